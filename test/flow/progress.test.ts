import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startLocalDaemon } from '../support/local-daemon.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Runs a program on a terminal and gives what came there. */
const onTerminal = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))'

t.test('long work tells a terminal how far it is, and nobody else', { skip: without('python3') }, async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  t.equal(await daemon.stop(), 0)
  const [data, back] = [join(dir, 'mailboxd-data'), join(dir, 'back')]
  mkdirSync(back)
  const works = [
    ['--data', data, 'verify'],
    ['--data', data, 'backup', join(dir, 'one')],
    ['--data', back, 'restore', join(dir, 'one')],
  ]
  for (const words of works) {
    const args = ['-c', onTerminal, process.execPath, builtProgram('mailboxctl'), ...words]
    const { code, stdout } = await runProgram('python3', args, '', { cwd: dir })
    t.equal(code, 0, stdout)
    const name = words[2]
    t.match(stdout, /^\r\x1b\[K[a-z][^\r\n]* \d+ %/, `${name} says what it does, and how far it is`)
    const [, result = ''] = /^[\s\S]*\r\x1b\[K([\s\S]*)$/.exec(stdout) ?? []
    t.match(result, /^\S.*\r\n/, `${name}: the line is gone before the answer`)
    t.notMatch(result, /\d %/)
  }
  t.ok(readdirSync(back).includes('mailboxd.sqlite'))

  for (const words of [works[0]!, ['--data', data, 'backup', join(dir, 'two')], ['--json', ...works[0]!]]) {
    const { code, stderr } = await runProgram(process.execPath, [builtProgram('mailboxctl'), ...words], '')
    t.strictSame({ code, stderr }, { code: 0, stderr: '' }, `${words.join(' ')} tells nobody`)
  }
})
