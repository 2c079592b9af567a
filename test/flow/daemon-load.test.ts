import t from 'tap'
import { startDaemon } from '../support/daemon.ts'

/** Tells, when a thread of the program ends, what of the bundle it has loaded, as a line of the log. */
const counting = `data:text/javascript,${encodeURIComponent(`import { isAscii } from 'node:buffer'
import { writeSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { threadId } from 'node:worker_threads'
const files = [], beyondAscii = []
let bytes = 0
registerHooks({ load(url, context, next) {
  const loaded = next(url, context)
  if (url.includes('/dist/')) {
    const name = url.split('/dist/')[1], source = Buffer.from(loaded.source ?? '')
    files.push(name)
    bytes += source.length
    if (!isAscii(source)) beyondAscii.push(name)
  }
  return loaded
} })
process.on('exit', () => writeSync(2, JSON.stringify({ msg: 'loaded', threadId, files, bytes, beyondAscii }) + '\\n'))`)}`

interface Loaded {
  readonly threadId: number
  readonly files: readonly string[]
  readonly bytes: number
  readonly beyondAscii: readonly string[]
}

t.test('a daemon loads for its start what that needs', async t => {
  const daemon = await startDaemon(t, { env: { NODE_OPTIONS: `--import=${counting}` } })
  t.equal(await daemon.end('SIGTERM'), 0)
  const threads = daemon.log().filter(({ msg }) => msg === 'loaded') as unknown as Loaded[]
  const { files, bytes } = threads.find(({ threadId }) => threadId === 0)!
  t.ok(files.length <= 45, `${files.length} files`)
  t.ok(bytes <= 4_100_000, `${bytes} bytes`)
  // What reads the schedule of the sweeps costs a tenth of a second.
  t.notOk(files.some(name => name.includes('cron')))
  // One other letter makes the text of its whole file twice as large, and several times as slow to read.
  t.strictSame(
    threads.flatMap(({ beyondAscii }) => beyondAscii),
    [],
  )
  t.ok(threads.length > 1, 'threads have told, too')
})
