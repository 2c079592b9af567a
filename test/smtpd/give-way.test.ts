import t from 'tap'
import {
  findCrowd,
  findWhoGivesWay,
  inOrder,
  type Occupant,
  smtpLongMs,
  smtpQuietMs,
  smtpSlowBytes,
  smtpSlowMs,
  smtpWordsMs,
} from '../../lib/smtpd/give-way.ts'

const nowMs = 1_000_000
const fresh: Occupant = {
  id: 'fresh',
  remoteAddress: '192.0.2.1',
  isTrusted: false,
  submitter: undefined,
  beganMs: nowMs - 1000,
  broughtMs: nowMs - 1000,
  coming: undefined,
  isJudged: false,
  hadTurn: false,
}
const ranksOf = (change: Partial<Occupant>, crowd?: string) =>
  findWhoGivesWay([{ ...fresh, ...change }], nowMs, crowd).map(({ rank }) => rank)
const slowBytes = (smtpSlowMs / 1000) * smtpSlowBytes

t.test('who gives way, each at its bound', async t => {
  t.strictSame(ranksOf({}), [], 'who has just come does not')
  t.strictSame(ranksOf({ broughtMs: nowMs - smtpQuietMs + 1 }), [])
  t.strictSame(ranksOf({ broughtMs: nowMs - smtpQuietMs }), ['idle'])
  const coming = (tookMs: number, bytes: number) => ({ coming: { sinceMs: nowMs - tookMs, bytes } })
  t.strictSame(ranksOf(coming(smtpSlowMs - 1, 0)), [], 'a message that has just begun')
  t.strictSame(ranksOf(coming(smtpSlowMs, slowBytes - 1)), ['slow'])
  t.strictSame(ranksOf(coming(smtpSlowMs, slowBytes)), [])
  t.strictSame(ranksOf(coming(2 * smtpSlowMs, 2 * slowBytes - 1)), ['slow'], 'it is a rate')
  t.strictSame(ranksOf({ hadTurn: true }), ['had its turn'])
  t.strictSame(ranksOf({ beganMs: nowMs - smtpWordsMs + 1 }), [])
  t.strictSame(ranksOf({ beganMs: nowMs - smtpWordsMs }), ['idle'], 'commands, and no message')
  t.strictSame(ranksOf({ beganMs: nowMs - smtpWordsMs, ...coming(1000, 100_000) }), [], 'a message comes')
  t.strictSame(ranksOf({ beganMs: nowMs - smtpWordsMs, hadTurn: true }), ['had its turn'])
  t.strictSame(ranksOf({ hadTurn: true, ...coming(1000, 1000) }), [], 'not in the next message')
  t.strictSame(ranksOf({}, '192.0.2.0/24'), ['crowd'])
  t.strictSame(ranksOf({}, '198.51.100.0/24'), [])
  const large = coming(1000, 100_000)
  t.strictSame(ranksOf({ beganMs: nowMs - smtpLongMs + 1, ...large }), [])
  t.strictSame(ranksOf({ beganMs: nowMs - smtpLongMs, ...large }), ['long'])
})

t.test('who never does', async t => {
  const guilty: Partial<Occupant> = {
    broughtMs: 0,
    beganMs: 0,
    hadTurn: true,
    coming: { sinceMs: 0, bytes: 0 },
  }
  t.strictSame(ranksOf(guilty), ['idle'])
  t.strictSame(ranksOf({ ...guilty, isTrusted: true }, '192.0.2.0/24'), [])
  t.strictSame(ranksOf({ ...guilty, submitter: {} }, '192.0.2.0/24'), [])
  t.strictSame(ranksOf({ ...guilty, isJudged: true }, '192.0.2.0/24'), [], 'it waits for us')
})

t.test('in which order', async t => {
  const since = (seconds: number) => nowMs - seconds * 1000
  const large = { coming: { sinceMs: since(1), bytes: 100_000 } }
  const of = (id: string, change: Partial<Occupant>): Occupant => ({ ...fresh, id, ...change })
  const found = findWhoGivesWay(
    [
      of('long', { beganMs: since(200), ...large }),
      of('longer', { beganMs: since(300), ...large }),
      of('in the crowd', { remoteAddress: '198.51.100.7' }),
      of('had its turn', { beganMs: since(5), hadTurn: true }),
      of('slow', { beganMs: since(30), coming: { sinceMs: since(25), bytes: 1 } }),
      of('idle', { beganMs: since(900), broughtMs: since(20) }),
      of('idle for longer', { beganMs: since(100), broughtMs: since(21) }),
      of('fresh', {}),
    ],
    nowMs,
    '198.51.100.0/24',
  )
  const names = ['idle for longer', 'idle', 'slow', 'had its turn', 'in the crowd', 'longer', 'long']
  t.strictSame(
    found.map(({ id }) => id),
    names,
  )
  t.strictSame(
    inOrder(found.toReversed()).map(({ id }) => id),
    names,
    'of several threads, too',
  )
})

t.test('the block that has more than its share', async t => {
  t.equal(findCrowd([]), undefined)
  t.equal(findCrowd(['192.0.2.1']), undefined, 'one alone has all')
  t.equal(findCrowd(['192.0.2.1', '198.51.100.1']), undefined, 'each has the same')
  t.equal(findCrowd(['192.0.2.1', '198.51.100.1', '192.0.2.2']), '192.0.2.0/24')
  t.equal(findCrowd(['192.0.2.1', '2001:db8::1', '2001:db8:0:7::1']), '2001:db8:0::/48')
})
