import t from 'tap'
import { destinationsKnown } from '../../../lib/base/concurrency.ts'
import {
  AddressStanding,
  addressProbeMaxMs,
  destinationFailures,
  probeOverMs,
} from '../../../lib/courier/smtp/address-standing.ts'
import { addressProbeMs, type Ending } from '../../../lib/courier/smtp/ending.ts'

const address = '192.0.2.1'

function setUp() {
  let nowMs = 1_000
  const standing = new AddressStanding({ now: () => new Date(nowMs), monotonicMs: () => nowMs })
  const attempt = (showing: 'answers' | 'fails' | undefined, more: object = {}, at = address) =>
    standing.watch(
      at,
      AbortSignal.any([]),
      async () => ({ outcome: { showing, ...more } }) as unknown as Ending,
    )
  const pass = (ms: number) => {
    nowMs += ms
  }
  return { standing, attempt, pass }
}

t.test('after three failures in a row one connection is tried at a time, ever less often', async t => {
  const { standing, attempt, pass } = setUp()
  for (let failures = 1; failures < destinationFailures; failures++) {
    await attempt('fails')
    t.equal(standing.mayTry(address), true, `${failures}`)
  }
  let waitMs: number = addressProbeMs
  for (let probes = 0; probes < 12; probes++) {
    await attempt('fails')
    t.strictSame(standing.mayTry(address), { inMs: waitMs })
    pass(waitMs - 1)
    t.strictSame(standing.mayTry(address), { inMs: 1 })
    t.equal(standing.mayTry('192.0.2.2'), true, 'another one is another one')
    pass(1)
    t.equal(standing.mayTry(address), true, 'the probe')
    t.strictSame(standing.mayTry(address), { inMs: addressProbeMs }, 'and nobody else meanwhile')
    waitMs = Math.min(2 * waitMs, addressProbeMaxMs)
  }
  t.equal(waitMs, addressProbeMaxMs)
  await attempt('answers')
  t.equal(standing.mayTry(address), true)
  await attempt('fails')
  t.equal(standing.mayTry(address), true, 'it is counted from the beginning')
})

t.test('a probe that is never heard of again does not keep others away for ever', async t => {
  const { standing, attempt, pass } = setUp()
  for (let failures = 0; failures < destinationFailures; failures++) await attempt('fails')
  pass(addressProbeMs)
  t.equal(standing.mayTry(address), true)
  pass(probeOverMs)
  t.equal(standing.mayTry(address), true, 'another one')
})

t.test('who had no time to answer showed nothing, and another finds out', async t => {
  const { standing, pass } = setUp()
  const fail = (signal: AbortSignal) =>
    standing.watch(address, signal, async () => ({ outcome: { showing: 'fails' } }) as unknown as Ending)
  for (let failures = 0; failures < destinationFailures; failures++) await fail(AbortSignal.any([]))
  pass(addressProbeMs)
  t.equal(standing.mayTry(address), true)
  await fail(AbortSignal.abort())
  t.equal(standing.mayTry(address), true, 'the next probe, at once')
})

t.test('who refuses with a code answers', async t => {
  const { standing, attempt } = setUp()
  for (let failures = 0; failures < 5; failures++) await attempt('fails', { code: 554 })
  t.equal(standing.mayTry(address), true)
})

t.test('what is known is bounded', async t => {
  const { standing, attempt } = setUp()
  for (let failures = 0; failures < destinationFailures; failures++) await attempt('fails')
  t.not(standing.mayTry(address), true)
  for (let n = 0; n < destinationsKnown; n++) await attempt('fails', {}, `${n}`)
  t.equal(standing.mayTry(address), true, 'what is forgotten is tried')
})

t.test('attempts that fail together are one failure', async t => {
  const { standing, attempt, pass } = setUp()
  const fail = Promise.withResolvers<void>()
  const together = Array.from({ length: 20 }, () =>
    standing.watch(address, AbortSignal.any([]), async () => {
      await fail.promise
      pass(1)
      return { outcome: { showing: 'fails' } } as unknown as Ending
    }),
  )
  fail.resolve()
  await Promise.all(together)
  t.equal(standing.mayTry(address), true)
  await attempt('fails')
  t.equal(standing.mayTry(address), true, 'the second')
  await attempt('fails')
  t.strictSame(standing.mayTry(address), { inMs: addressProbeMs }, 'the third')
})
