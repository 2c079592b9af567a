import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import t, { type Test } from 'tap'
import { createLog } from '../../../lib/base/log.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { createScanner, type ScannerOptions } from '../../../lib/courier/scanner/scanner.ts'
import { countingMeter } from '../../support/counted.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { headerText, rejectedText, startClamav, startRspamd, virusText } from '../../support/scanners.ts'

function openScanner(t: Test, options: Partial<ScannerOptions>) {
  const log: Record<string, unknown>[] = []
  const { meter, counted } = countingMeter()
  const scanner = createScanner({
    clock: systemClock,
    meter,
    log: createLog('debug', { write: line => void log.push(JSON.parse(line)) }),
    clamav: undefined,
    rspamdUrl: undefined,
    spamActions: ['reject', 'add header'],
    timeoutMs: 60_000,
    maxSizeBytes: 10_000_000,
    ...options,
  })
  t.teardown(() => scanner.close())
  const scan = (body: string | Buffer) => {
    const bytes = Buffer.concat([Buffer.from('From: a@b.example\r\nSubject: x\r\n\r\n'), Buffer.from(body)])
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, index) =>
      bytes.subarray(index * 65_536, (index + 1) * 65_536),
    )
    return scanner.scan({
      sizeBytes: bytes.length,
      open: () => Readable.from(chunks),
      remoteAddress: '192.0.2.1',
      helo: 'client.example',
      mailFrom: 'jörg@b.example',
      rcptTos: ['ann@ours.example', 'bea@ours.example'],
      sessionId: 's',
    })
  }
  return { scan, log, counted }
}

t.test('ClamAV and rspamd, the real ones', { skip: without('clamd', 'rspamd') }, async t => {
  const [clamav, rspamd] = await Promise.all([startClamav(t), startRspamd(t)])
  const { scan, log, counted } = openScanner(t, { clamav: { path: clamav.path }, rspamdUrl: rspamd.url })
  t.strictSame(await scan('hello\r\n'), {})
  t.strictSame(await scan(`${virusText}\r\n`), { virus: 'Test.Virus-1.UNOFFICIAL' })
  t.strictSame(await scan(`${rejectedText}\r\n`), { spamAction: 'reject' })
  t.strictSame(await scan(`${headerText}\r\n`), { spamAction: 'add header' })
  t.strictSame(
    await Promise.all(Array.from({ length: 40 }, (_, index) => scan(index % 2 ? virusText : 'hello'))),
    Array.from({ length: 40 }, (_, index) => (index % 2 ? { virus: 'Test.Virus-1.UNOFFICIAL' } : {})),
    'many at once',
  )
  t.strictSame(log, [])
  t.strictSame(
    [...counted].sort(),
    [
      ['scans_total clamav clean', 23],
      ['scans_total clamav found', 21],
      ['scans_total rspamd clean', 42],
      ['scans_total rspamd found', 2],
    ],
    'each is counted',
  )
  t.strictSame(await scan(Buffer.alloc(5_000_000, 'x\r\n')), {}, 'over StreamMaxLength')
  t.match(log, [{ scanner: 'ClamAV', msg: 'messages could not be scanned' }])
  await clamav.stop()
  await rspamd.stop()
  t.strictSame(await scan(`${virusText} ${rejectedText}`), {}, 'and when both are down')
  t.ok(log.some(entry => entry.scanner === 'rspamd' && entry.level === 'warn'))
})

t.test('what is too large is not asked about', async t => {
  const port = await freePort('127.0.0.1')
  const { scan, log, counted } = openScanner(t, {
    clamav: { host: '127.0.0.1', port },
    maxSizeBytes: 1000,
  })
  t.strictSame(await scan('x'.repeat(1000)), {})
  t.strictSame(log, [], 'or it would have been missed')
  await scan('x')
  t.match(log, [{ reasons: { ECONNREFUSED: 1 } }])
  t.strictSame([...counted.keys()], ['scans_total clamav too_large', 'scans_total clamav failed'])
})

t.test('scanners that are late, silent or mad find nothing, and nobody waits for ever', async t => {
  const answers: Record<string, (socket: Socket) => void> = {
    silent: () => {},
    closing: socket => socket.end(),
    resetting: socket => socket.resetAndDestroy(),
    endless: socket => void socket.write('x'.repeat(2_000_000)),
    nonsense: socket => void socket.write('\0'),
    other: socket => void socket.write('INSTREAM size limit exceeded. ERROR\0'),
    nameless: socket => void socket.write('stream:  FOUND\0'),
    http: socket => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]'),
    'no object': socket => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnull'),
    'http 500': socket => void socket.end('HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\n{}'),
    'http without end': socket =>
      void socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 9000000\r\n\r\n${' '.repeat(3_000_000)}`),
  }
  for (const [name, answer] of Object.entries(answers)) {
    const sockets = new Set<Socket>()
    const server = createServer(socket => {
      sockets.add(socket.on('error', () => {}).resume())
      answer(socket)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as { port: number }
    const { scan, log, counted } = openScanner(t, {
      clamav: { host: '127.0.0.1', port },
      rspamdUrl: `http://127.0.0.1:${port}`,
      timeoutMs: 300,
    })
    // More than are scanned at once: the turn counts, too.
    t.strictSame(await Promise.all(Array.from({ length: 20 }, () => scan('hello'))), Array(20).fill({}), name)
    t.strictSame([...new Set(log.map(entry => entry.scanner))].sort(), ['ClamAV', 'rspamd'], name)
    t.equal(log.length, 2, `${name}: said once for each`)
    t.match([...counted.keys()].join(), /^(?:scans_total (?:clamav|rspamd) (?:late|failed),?)+$/, name)
    const isLate = [...counted.keys()].map(one => one.endsWith(' late'))
    // Some of those who hang up do so after the time of those that wait for a turn.
    if (name === 'silent') t.notOk(isLate.includes(false), 'who says nothing is late')
    if (name === 'closing') t.ok(isLate.includes(false), 'and who hangs up fails')
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})
