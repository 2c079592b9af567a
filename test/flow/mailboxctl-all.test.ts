import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { runCtl } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** The commands that a shell completes to their end, in order. */
function commandsIn(script: string): string[] {
  const paths = [...script.matchAll(/^ {4}'(.+)'\) echo /gm)].map(([, path]) => path!)
  return paths.filter(path => !paths.some(other => other.startsWith(`${path} `))).sort()
}

t.test('every command is run by a test', async t => {
  const stories = globSync('mailboxctl*.test.ts', { cwd: import.meta.dirname }).filter(
    name => !name.includes('-all'),
  )
  const text = stories.map(name => readFileSync(join(import.meta.dirname, name), 'utf8')).join('\n')
  // Of these there are stories of their own (backup, moving, setup, dns-check, message-log, and test/cli).
  const elsewhere = [
    'backup',
    'restore',
    'migrate',
    'event tail',
    'completion',
    'setup',
    'dns check',
    'doctor',
    'message log',
  ]
  const known = new Set([...elsewhere, ...Object.values(spoken).map(one => one.words)])
  const { stdout } = await runCtl(temporaryDir(t), 'completion', 'bash')
  const all = commandsIn(stdout)
  t.ok(all.length > 60)
  t.strictSame(
    all.filter(command => !known.has(command) && !text.includes(`'${command}'`)),
    [],
    'none was left out',
  )
})
