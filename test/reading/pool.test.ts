import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createLog } from '../../lib/base/log.ts'
import { Reply } from '../../lib/base/reply.ts'
import { systemClock } from '../../lib/base/time.ts'
import { createMailReader, type ReaderOptions } from '../../lib/reading/pool.ts'
import type { ReadingRequest } from '../../lib/reading/reading.ts'
import { startDns } from '../support/dns.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024

function open(t: Test, given: Partial<ReaderOptions> = {}) {
  const log: { why?: string; msg: string }[] = []
  const reader = createMailReader({
    trustedSealers: [],
    hostname: 'mail.ours.example',
    dns: { servers: ['127.0.0.1:9'], timeoutMs: 1000 },
    threads: 2,
    timeoutMs: 60_000,
    heapBytes: 256 * mebibyte,
    smallBytes: 32 * mebibyte,
    largeBytes: 96 * mebibyte,
    waitMs: 60_000,
    idleMs: 60_000,
    clock: systemClock,
    log: createLog('warn', { write: line => void log.push(JSON.parse(line)) }),
    ...given,
  })
  t.teardown(() => reader.stop())
  return { reader, log }
}

function letter(subject: string, body = 'Hello\r\n', header = ''): Buffer {
  return Buffer.from(`From: Bob <bob@theirs.example>\r\nSubject: ${subject}\r\n${header}\r\n${body}`)
}

function small(bytes: Buffer): ReadingRequest {
  return {
    content: { kind: 'memory', bytes },
    mailFrom: 'bob@theirs.example',
    peer: null,
    mayReport: false,
    deliveredTo: [],
  }
}

function large(t: Test, bytes: Buffer): ReadingRequest {
  const path = join(temporaryDir(t), 'raw')
  writeFileSync(path, bytes)
  return { ...small(bytes), content: { kind: 'file', path, sizeBytes: bytes.length, sha256: '' } }
}

/** Needs more than a few megabytes, however it is read. */
function greedy(subject: string): Buffer {
  const parts = Array.from(
    { length: 8 },
    () => `--b\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n${'> é\r\ne\r\n'.repeat(400_000)}\r\n`,
  )
  return letter(subject, `${parts.join('')}--b--\r\n`, 'Content-Type: multipart/mixed; boundary=b\r\n')
}

t.test('what a message says comes back, small or large, and the same', async t => {
  const { reader } = open(t)
  const bytes = letter('Größe', `Your login code is 482913\r\n${'x '.repeat(1000)}`)
  for (const request of [small(bytes), large(t, bytes)]) {
    const reading = await reader.read(request, 'p')
    t.match(reading, {
      isWhole: true,
      message: { subject: 'Größe', from: { address: 'bob@theirs.example', name: 'Bob' }, problems: [] },
      // A code alone does not say that a program wrote it.
      classified: { category: 'personal', autoReplyable: true },
      authentication: null,
      told: [],
      feedback: null,
    })
    t.equal(JSON.parse(reading.extracted).otp, '482913')
  }
})

t.test('it is authenticated in the thread, with the DNS of the configuration', async t => {
  const dns = await startDns({
    'theirs.example': { TXT: ['v=spf1 ip4:192.0.2.7 -all'] },
    '_dmarc.theirs.example': { TXT: ['v=DMARC1; p=reject'] },
  })
  t.teardown(() => dns.close())
  const { reader } = open(t, { dns: { servers: [dns.server], timeoutMs: 5000 } })
  const read = (remoteAddress: string) =>
    reader.read({ ...small(letter('hi')), peer: { remoteAddress, helo: 'mx.theirs.example' } }, 'p')
  t.match((await read('192.0.2.7')).authentication, { spf: 'pass', dmarc: 'pass', aligned: true })
  t.match((await read('192.0.2.8')).authentication, { spf: 'fail', dmarc: 'fail', aligned: false })
})

t.test('a message that takes all memory costs its own reading, and nobody else anything', async t => {
  const { reader, log } = open(t, { heapBytes: 14 * mebibyte })
  const others = () =>
    Promise.all(Array.from({ length: 20 }, (_, n) => reader.read(small(letter(`letter ${n}`)), 'q')))
  // As a small one it is in one thread with the others; as a large one it is not.
  for (const poison of [small(greedy('poison')), large(t, greedy('poison'))]) {
    const [reading, rest] = await Promise.all([reader.read(poison, 'p'), others()])
    t.match(reading, {
      isWhole: false,
      message: { subject: 'poison', from: { address: 'bob@theirs.example' }, text: '', html: '' },
    })
    t.match(reading.message.problems, [/memory/])
    for (const [n, one] of rest.entries())
      t.match(one, { isWhole: true, message: { subject: `letter ${n}` } })
  }
  t.ok(log.length >= 2, 'threads really ended')
  t.ok(log.every(({ why }) => /memory/.test(why ?? '')))
})

t.test('one that is late is ended, and its header is there all the same', async t => {
  const { reader, log } = open(t, { timeoutMs: 1 })
  const reading = await reader.read(large(t, greedy('slow')), 'p')
  t.match(reading, { isWhole: false, message: { subject: 'slow' } })
  t.match(reading.message.problems, [/longer than 1 ms/])
  t.ok(log.length >= 1)
})

t.test('letters do not wait for a large message', async t => {
  const { reader } = open(t)
  await reader.read(small(letter('warm')), 'p')
  let isRead = false
  const reading = reader.read(large(t, greedy('long')), 'p').finally(() => {
    isRead = true
  })
  await reader.read(small(letter('short')), 'p')
  t.notOk(isRead)
  t.match(await reading, { message: { subject: 'long' } })
})

t.test('more than it may have at once waits, in turns, and then is told so', async t => {
  const { reader } = open(t, { largeBytes: 10 * mebibyte, waitMs: 1 })
  const bytes = letter('large', 'x\r\n'.repeat(2 * mebibyte))
  const results = await Promise.allSettled(Array.from({ length: 6 }, () => reader.read(large(t, bytes), 'p')))
  const refused = results.filter(one => one.status === 'rejected').map(({ reason }) => reason)
  t.ok(refused.length >= 1 && refused.length <= 5)
  for (const reason of refused) {
    t.ok(reason instanceof Reply)
    t.match(reason, { code: 451, enhanced: '4.3.2' })
  }
  t.match(await reader.read(large(t, bytes), 'p'), { isWhole: true }, 'afterwards it has room again')
})

t.test('one party leaves room for the others', async t => {
  const { reader } = open(t, { largeBytes: 20 * mebibyte })
  const bytes = letter('large', 'x\r\n'.repeat(2 * mebibyte))
  const order: string[] = []
  const read = async (party: string) => {
    await reader.read(large(t, bytes), party)
    order.push(party)
  }
  await Promise.all([...Array.from({ length: 5 }, () => read('greedy')), read('other')])
  t.equal(order.length, 6)
  t.ok(order.indexOf('other') < 3, `the other came ${order.indexOf('other') + 1}.`)
})

t.test('bytes that can not be had are a fault of ours, and no problem of the message', async t => {
  const { reader, log } = open(t)
  const content = { kind: 'file', path: '/nonexistent/raw', sizeBytes: 5, sha256: '' } as const
  await t.rejects(reader.read({ ...small(letter('x')), content }, 'p'), { message: /ENOENT/ })
  t.match(await reader.read(small(letter('next')), 'p'), { isWhole: true })
  t.strictSame(log, [])
})

const tasks = '/proc/self/task'

t.test(
  'a thread that has nothing to do ends, and comes again',
  { skip: existsSync(tasks) ? false : 'this system does not show its threads' },
  async t => {
    const { reader } = open(t, { idleMs: 1 })
    const ofSize = { small, large: (raw: Buffer) => large(t, raw) }
    for (const [size, message] of Object.entries(ofSize)) {
      const before = readdirSync(tasks).length
      const reading = reader.read(message(letter('one')), 'p')
      await until(`a thread for a ${size} one`, () => readdirSync(tasks).length > before)
      await reading
      await until('its end', () => readdirSync(tasks).length <= before)
      t.match(await reader.read(message(letter('two')), 'p'), { message: { subject: 'two' } })
      await until('the end of the next', () => readdirSync(tasks).length <= before)
    }
  },
)

t.test('one thread does for all', async t => {
  const { reader } = open(t, { threads: 1 })
  const readings = await Promise.all([
    reader.read(small(letter('small')), 'p'),
    reader.read(large(t, letter('large')), 'p'),
  ])
  t.strictSame(
    readings.map(({ message }) => message.subject),
    ['small', 'large'],
  )
})

t.test('many messages that take long together are not late, for none of them is', async t => {
  // Some 30 ms each: all of them take far longer than one may.
  const { reader, log } = open(t, { threads: 1, timeoutMs: 1000 })
  const body = '<h1>a</h1>'.repeat(5000)
  const html = letter('slow', body, 'Content-Type: text/html\r\n')
  const readings = await Promise.all(Array.from({ length: 60 }, () => reader.read(small(html), 'p')))
  t.ok(readings.every(reading => reading.isWhole))
  t.strictSame(log, [], 'no thread ended')
})
