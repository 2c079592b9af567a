import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startLocalDaemon } from '../support/local-daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Tells, when the program ends, what of the bundle it has loaded: in kilobytes, for that is what a call takes its time for. */
const counting = `data:text/javascript,${encodeURIComponent(`import { registerHooks } from 'node:module'
let bytes = 0
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (url.includes('/dist/')) bytes += loaded.source?.length ?? 0
  return loaded
} })
process.on('exit', () => console.error('loaded', Math.round(bytes / 1024)))`)}`

t.test('a call loads what it does, and not the whole program', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const inbox = /^ {2}inbox +(\S+)$/m.exec(daemon.printed)![1]!
  t.equal(await daemon.stop(), 0)
  const loadedBy = async (...words: string[]) => {
    const args = ['--import', counting, builtProgram('mailboxctl'), ...words]
    const { code, stderr } = await runProgram(process.execPath, args, '', { cwd: dir })
    t.equal(code, 0, words.join(' '))
    return Number(/^loaded (\d+)$/m.exec(stderr)?.[1])
  }
  // What help and completion say is made by the build: of the API and the database nothing is needed.
  for (const words of ['--help', '--version', 'help', 'inbox --help', 'completion bash']) {
    t.ok((await loadedBy(...words.split(' '))) < 500, `${words} loads less than 500 kB`)
  }
  const lookups = ['status', 'key list', 'queue list', 'queue holds', 'domain list', 'suppression list']
  for (const words of lookups)
    t.ok((await loadedBy(...words.split(' '))) < 1500, `${words} loads less than 1.5 MB`)
  for (const words of ['inbox list', `message list ${inbox}`, 'event list', 'thread search', 'pod list']) {
    t.ok((await loadedBy(...words.split(' '))) < 2000, `${words} loads less than 2 MB`)
  }
})
