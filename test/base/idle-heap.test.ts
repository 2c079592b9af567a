import { readFileSync } from 'node:fs'
import t from 'tap'
import { startIdleHeap } from '../../lib/base/threads.ts'
import { until } from '../support/until.ts'

t.test(
  'garbage is collected when work has ended, again as long as nothing is done, and not while there is any',
  async t => {
    // A start, rest, health checks, more rest, work, rest.
    const shares = [0.9, 0.4, 0, 0, 0.04, 0, 0, 0, 0, 0.3, 0.06, 0, 0]
    const collectedAt: number[] = []
    let looks = 0
    const heap = startIdleHeap(
      { lookMs: 1, againLooks: 3 },
      {
        worked: before => {
          t.equal(before, looks === 0 ? undefined : looks - 1)
          return { share: shares[looks] ?? 0.9, next: looks++ }
        },
        collect: () => collectedAt.push(looks - 1),
      },
    )
    // The timer keeps no process alive.
    const keep = setInterval(() => {}, 1000)
    t.teardown(() => clearInterval(keep))
    await until('all looks', () => looks >= shares.length)
    heap.stop()
    t.same(collectedAt, [2, 4, 7, 11])
  },
)

t.test('the garbage of this thread goes', async t => {
  let garbage: WeakRef<object> | undefined = new WeakRef({ some: 'thing' })
  const heap = startIdleHeap({ lookMs: 10, againLooks: 3 })
  await until('it was collected', () => garbage?.deref() === undefined)
  heap.stop()
  garbage = undefined
  t.equal((globalThis as { gc?: unknown }).gc, undefined, 'and nothing can ask for that')
})

t.test('what the C library keeps goes back to the system', { skip: !hasGlibc() && 'no glibc' }, async t => {
  // Small pieces of memory outside the heap of JavaScript, every 32nd of them kept: no arena can be shortened at its end.
  let pieces: ArrayBuffer[] | undefined = Array.from({ length: 100_000 }, () => new ArrayBuffer(1000))
  const kept = pieces.filter((_, index) => index % 32 === 0)
  const takenBytes = anonymousBytes()
  pieces = undefined
  // Node says that node:ffi is experimental; bin/mailboxd is told to say nothing of it.
  process.removeAllListeners('warning')
  const heap = startIdleHeap({ lookMs: 10, againLooks: 3 })
  await until('two thirds of it are given back', () => takenBytes - anonymousBytes() > 66_000_000)
  heap.stop()
  t.equal(kept.length, 3125)
})

function hasGlibc(): boolean {
  const report = process.report.getReport() as { header: { glibcVersionRuntime?: string } }
  return report.header.glibcVersionRuntime !== undefined
}

function anonymousBytes(): number {
  return 1024 * Number(/^RssAnon:\s*(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1])
}
