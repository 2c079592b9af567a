import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startLocalDaemon } from '../support/local-daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** Prints, when the program ends, how many kilobytes of the bundle it has loaded: most of the time of a call goes into them. */
const counting = `data:text/javascript,${encodeURIComponent(`import { isAscii } from 'node:buffer'
import { registerHooks } from 'node:module'
let bytes = 0, others = 0
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (url.includes('/dist/')) { bytes += loaded.source?.length ?? 0; others += isAscii(loaded.source) ? 0 : 1 }
  return loaded
} })
process.on('exit', () => console.error('loaded', Math.round(bytes / 1024), others))`)}`

t.test('a call loads what it does, and not the whole program', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const inbox = /^ {2}inbox +(\S+)$/m.exec(daemon.printed)![1]!
  t.equal(await daemon.stop(), 0)
  const loadedBy = async (...words: string[]) => {
    const args = ['--import', counting, builtProgram('mailboxctl'), ...words]
    const { code, stderr } = await runProgram(process.execPath, args, '', { cwd: dir })
    t.equal(code, 0, words.join(' '))
    const [, kilobytes, others] = /^loaded (\d+) (\d+)$/m.exec(stderr)!.map(Number)
    t.equal(
      others,
      0,
      `${words.join(' ')} loads ASCII alone, of which the string has a byte for each character`,
    )
    return kilobytes!
  }
  const loadsAtMost = async (most: number, ...called: string[]) => {
    for (const words of called) {
      const loaded = await loadedBy(...words.split(' '))
      t.ok(loaded <= most, `${words} loads ${loaded} kB, at most ${most}`)
    }
  }
  // Each bound was set a twentieth above the measured size: it shows a new part, and not a new line.
  // What help and completion say is made by the build: of the API and the database nothing is needed.
  await loadsAtMost(148, '--help', '--version', 'help')
  // 470 kB of the rest are the tables of charsets that Node does not have, which come along with addresses.
  await loadsAtMost(1220, 'inbox --help', 'completion bash')
  await loadsAtMost(1680, 'status', 'key list', 'queue list', 'queue holds')
  await loadsAtMost(2250, 'domain list', 'suppression list')
  const lists = ['inbox list', `message list ${inbox}`, 'event list', 'thread search', 'pod list']
  await loadsAtMost(2700, ...lists)
  await loadsAtMost(2240, 'verify')
  // What reads mail has letters of many languages in its patterns.
  await loadsAtMost(4960, `message send ${inbox} --to ann@example.net --subject s --body b`)
})
