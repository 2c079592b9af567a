import { once } from 'node:events'
import t from 'tap'
import { packageVersion } from '../../../lib/base/package-root.ts'
import { webhookAnswerBytes, webhookReadBytes } from '../../../lib/courier/webhook/connection.ts'
import { webhookRetryAfterMs } from '../../../lib/courier/webhook/courier.ts'
import { until } from '../../support/until.ts'
import { bytePeer, httpPeer, webhookLoopback } from './loopback.ts'

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'

t.test('a call is a POST of the very bytes with its headers', async t => {
  const { courier } = await webhookLoopback(t)
  const peer = await httpPeer(t, response => response.end('thanks'))
  const body = '{"subject":"Grüße"}'
  const outcome = await courier.call({
    url: `http://there.example:${peer.port}/in?token=1`,
    body,
    headers: { 'webhook-id': 'evt_1' },
  })
  t.match(outcome, { result: 'delivered', status: 200, answer: 'thanks', address: '127.0.0.2' })
  t.type(outcome.durationMs, 'number')
  t.notOk('error' in outcome)
  t.match(peer.seen, [
    {
      method: 'POST',
      path: '/in?token=1',
      body,
      headers: {
        host: `there.example:${peer.port}`,
        'user-agent': `mailboxd/${packageVersion()}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'webhook-id': 'evt_1',
      },
    },
  ])
})

t.test('any 2xx is a success, 410 is gone, everything else is a failure', async t => {
  const { call } = await webhookLoopback(t)
  const peer = await httpPeer(t, (response, { path }) => {
    response.statusCode = Number(path?.slice(1))
    response.end()
  })
  const base = `http://there.example:${peer.port}`
  for (const status of [200, 201, 202, 204, 299])
    t.match(await call(`${base}/${status}`), { result: 'delivered', status })
  t.match(await call(`${base}/410`), {
    result: 'gone',
    status: 410,
    error: 'the receiver answered 410: gone',
  })
  for (const status of [304, 400, 401, 404, 409, 429, 500, 503, 599])
    t.match(await call(`${base}/${status}`), {
      result: 'failed',
      status,
      error: `the receiver answered ${status}`,
      retryAfterMs: undefined,
    })
})

t.test('a redirect is not followed, and its target not asked', async t => {
  const { call } = await webhookLoopback(t)
  const target = await httpPeer(t)
  const peer = await httpPeer(t, (response, { path }) => {
    response.writeHead(Number(path?.slice(1)), { location: `http://there.example:${target.port}/` })
    response.end()
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const outcome = await call(`http://there.example:${peer.port}/${status}`)
    t.match(outcome, { result: 'failed', status, error: /redirects are not followed/ })
  }
  t.equal(target.sockets.length, 0)
})

t.test('Retry-After counts on a failure, up to an hour', async t => {
  const { call } = await webhookLoopback(t)
  const peer = await httpPeer(t, (response, { path }) => {
    const [, status, wait] = path?.split('/') ?? []
    response.writeHead(Number(status), { 'retry-after': decodeURIComponent(wait ?? '') })
    response.end()
  })
  const at = (path: string) => call(`http://there.example:${peer.port}/${path}`)
  t.match(await at('503/120'), { result: 'failed', retryAfterMs: 120_000 })
  t.match(await at('429/999999'), { retryAfterMs: webhookRetryAfterMs })
  t.match(await at('500/7'), { retryAfterMs: 7000 })
  t.match(await at(`503/${encodeURIComponent('Fri, 31 Dec 2100 23:59:59 GMT')}`), {
    retryAfterMs: webhookRetryAfterMs,
  })
  t.notOk('retryAfterMs' in (await at('503/soon')))
  t.notOk('retryAfterMs' in (await at('200/120')))
})

t.test('one connection carries call after call, and none is kept of an origin without one', async t => {
  const { call, courier } = await webhookLoopback(t)
  const peer = await httpPeer(t, (response, { path }) => {
    if (path === '/last') response.setHeader('connection', 'close')
    response.end()
  })
  for (let n = 0; n < 5; n++) t.match(await call(`http://there.example:${peer.port}/${n}`), { status: 200 })
  t.equal(peer.sockets.length, 1)
  t.same(courier.size, { connections: 1, origins: 1 })
  await call(`http://there.example:${peer.port}/last`)
  await until('nothing is kept', () => courier.size.connections === 0)
  t.same(courier.size, { connections: 0, origins: 0 })
})

t.test('calls at once share no more connections than are allowed', async t => {
  const { call, courier } = await webhookLoopback(t, {}, { maxConnectionsPerOrigin: 3, maxConnections: 4 })
  let atOnce = 0
  let most = 0
  const peers = await Promise.all(
    [1, 2, 3].map(() =>
      httpPeer(t, response => {
        most = Math.max(most, ++atOnce)
        setImmediate(() => {
          atOnce--
          response.end()
        })
      }),
    ),
  )
  const calls = peers.flatMap(({ port }) =>
    Array.from({ length: 20 }, () => call(`http://there.example:${port}/`)),
  )
  const outcomes = await Promise.all(calls)
  t.ok(outcomes.every(({ result }) => result === 'delivered'))
  t.ok(most > 1 && most <= 4, `${most} at once`)
  t.ok(courier.size.connections <= 4)
  t.equal(peers.flatMap(({ seen }) => seen).length, 60, 'each was made once')
})

t.test('many origins leave nothing behind but the allowed connections', async t => {
  const { call, courier } = await webhookLoopback(
    t,
    Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`h${n}.example`, { A: ['127.0.0.2'] }])),
    { maxConnections: 5 },
  )
  const peer = await httpPeer(t)
  for (let n = 0; n < 40; n++)
    t.match(await call(`http://h${n}.example:${peer.port}/`), { result: 'delivered' })
  t.same(courier.size, { connections: 5, origins: 5 })
})

t.test('connections that break, hang or close under load leave no place taken', async t => {
  const { call, courier } = await webhookLoopback(
    t,
    Object.fromEntries(Array.from({ length: 10 }, (_, n) => [`h${n}.example`, { A: ['127.0.0.2'] }])),
    { maxConnections: 4, maxConnectionsPerOrigin: 2, timeoutMs: 500 },
  )
  const asked = new Map<string, number>()
  const peer = await bytePeer(t, socket => {
    socket.on('data', chunk => {
      const id = /POST \/(\d+) /.exec(chunk.toString('latin1'))?.[1]
      if (id === undefined) return
      asked.set(id, (asked.get(id) ?? 0) + 1)
      const way = Number(id) % 7
      if (way === 0) socket.resetAndDestroy()
      else if (way === 1) socket.end(ok)
      else if (way === 2) socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
      else if (way !== 3 || Number(id) > 100) socket.write(ok)
    })
  })
  const calls = Array.from({ length: 300 }, (_, n) => call(`http://h${n % 10}.example:${peer.port}/${n}`))
  const outcomes = await Promise.all(calls)
  t.ok(outcomes.every(({ result, error }) => result === 'delivered' || error !== undefined))
  t.ok(
    [...asked.values()].every(times => times === 1),
    'none was made twice',
  )
  t.ok(courier.size.connections <= 4)
  t.match(
    await call(`http://h0.example:${peer.port}/999998`),
    { result: 'delivered' },
    'there is room afterwards',
  )
  courier.close()
  t.same(courier.size, { connections: 0, origins: 0 })
})

t.test('a call that finds all connections busy waits no longer than it may take', async t => {
  const { call } = await webhookLoopback(t, {}, { maxConnectionsPerOrigin: 1, timeoutMs: 200 })
  const peer = await bytePeer(t, socket => socket.resume())
  const url = `http://there.example:${peer.port}/`
  const [first, second] = await Promise.all([call(url), call(url)])
  t.match(first, { result: 'failed', error: 'no answer within 0.2 s' })
  t.match(second, { result: 'failed', error: /all connections being busy|no answer within/ })
})

t.test('slow or endless answers end with the time or with what is read', async t => {
  const { call, courier } = await webhookLoopback(t, {}, { timeoutMs: 1000 })
  const say = async (serve: Parameters<typeof bytePeer>[1]) => {
    const peer = await bytePeer(t, serve)
    const outcome = await call(`http://there.example:${peer.port}/`)
    await until('the connection is ended', () => peer.sockets.every(socket => socket.destroyed))
    return outcome
  }
  const late = { result: 'failed', error: 'no answer within 1 s', address: '127.0.0.2' }
  t.match(await say(socket => socket.resume()), late, 'says nothing')
  t.match(await say(socket => socket.write('HTTP/1.1 200 OK\r\nX-Slow: ')), late, 'half a header')
  const interim = 'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'.repeat(50)
  t.match(await say(socket => socket.write(interim)), late, 'interim answers only')
  t.match(
    await say(socket => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal')),
    { result: 'delivered', status: 200, answer: 'hal' },
    'the status counts, whatever becomes of the body',
  )
  t.match(
    await say(socket => socket.write('HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhal\r\n')),
    { result: 'failed', status: 500, answer: 'hal' },
    'a failure too',
  )
  const flood = await say(socket => {
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    const pour = () => {
      while (!socket.destroyed && socket.write(`1000\r\n${'x'.repeat(0x1000)}\r\n`));
      if (!socket.destroyed) socket.once('drain', pour)
    }
    pour()
  })
  t.match(flood, { result: 'delivered', status: 200 })
  t.equal(flood.answer?.length, 1000)
  const headers = await say(socket => {
    const pour = () => {
      while (!socket.destroyed && socket.write(`X-More: ${'x'.repeat(1000)}\r\n`));
      if (!socket.destroyed) socket.once('drain', pour)
    }
    socket.write('HTTP/1.1 200 OK\r\n')
    pour()
  })
  t.match(headers, { result: 'failed', error: /header is larger than 16384 bytes/ })
  t.same(courier.size, { connections: 0, origins: 0 })
})

t.test('an answer is read so far, and then it is known', async t => {
  const { call } = await webhookLoopback(t, {}, { timeoutMs: 600_000 })
  const peer = await bytePeer(t, socket => {
    const said = 'x'.repeat(webhookReadBytes + 1)
    socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n${said}`)
  })
  t.match(await call(`http://there.example:${peer.port}/`), { result: 'delivered', status: 200 })
  t.ok(webhookReadBytes <= 64 * 1024)
  // After one that is read to its end the connection carries the next call.
  for (const more of [0, 1]) {
    const polite = await httpPeer(t, response => response.end('x'.repeat(webhookReadBytes + more)))
    for (let count = 0; count < 2; count++)
      t.match(await call(`http://there.example:${polite.port}/`), { result: 'delivered', status: 200 })
    t.equal(polite.sockets.length, 1 + more)
  }
})

t.test('of an answer its first bytes are told, in whatever pieces it comes', async t => {
  const { call } = await webhookLoopback(t)
  const half = webhookAnswerBytes / 2
  // Of two bytes each, so that more of them would not be too long a line.
  const letters = (letter: string, bytes: number) => letter.repeat(bytes / 2)
  const first = letters('é', half)
  for (const [pieces, told] of [
    [[], ''],
    [[first], first],
    [[first, letters('à', half)], first + letters('à', half)],
    [[first, letters('à', half), letters('ü', half)], first + letters('à', half)],
    [[first, letters('à', 2 * half)], first + letters('à', half)],
    [[first, letters('à', 2 * half), letters('ü', 3 * half)], first + letters('à', half)],
    [[letters('é', 4 * half), letters('à', half)], letters('é', 2 * half)],
  ] as const) {
    const chunks = pieces.map(piece => `${Buffer.byteLength(piece).toString(16)}\r\n${piece}\r\n`)
    const peer = await bytePeer(t, socket =>
      socket.end(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`),
    )
    const { answer = '' } = await call(`http://there.example:${peer.port}/`)
    t.equal(answer, told, `pieces of ${pieces.map(piece => piece.length)}`)
  }
})

t.test('interim answers are passed over', async t => {
  const { call } = await webhookLoopback(t)
  const peer = await httpPeer(t, response => {
    response.writeProcessing()
    response.writeEarlyHints({ link: '</x>; rel=preload' })
    response.end('now')
  })
  t.match(await call(`http://there.example:${peer.port}/`), {
    result: 'delivered',
    status: 200,
    answer: 'now',
  })
})

t.test('the answer is fit for a log', async t => {
  const { call } = await webhookLoopback(t)
  const peer = await httpPeer(t, (response, { path }) => {
    if (path === '/gzip') response.setHeader('content-encoding', 'gzip')
    response.end(
      Buffer.concat([Buffer.from('a\r\n\x1b[31m\0b\u2028c '), Buffer.from([0xff, 0xfe]), Buffer.from('é')]),
    )
  })
  for (const path of ['plain', 'gzip'])
    t.match(await call(`http://there.example:${peer.port}/${path}`), {
      result: 'delivered',
      answer: 'a [31m b c \ufffd\ufffdé',
    })
})

t.test('a connection that breaks before the answer is a failure; after the header it is not', async t => {
  const { call } = await webhookLoopback(t)
  const say = async (text: string, end: 'reset' | 'close') => {
    const peer = await bytePeer(t, socket => {
      socket.once('data', () => {
        const finish = () => (end === 'reset' ? socket.resetAndDestroy() : socket.end())
        if (text === '') finish()
        else socket.write(text, finish)
      })
    })
    return call(`http://there.example:${peer.port}/`)
  }
  for (const end of ['reset', 'close'] as const) {
    t.match(await say('', end), {
      result: 'failed',
      error: /^the connection was (reset|closed) before an answer$/,
    })
    t.match(await say('HTTP/1.1 200 O', end), { result: 'failed', error: /before an answer|not HTTP/ })
  }
  t.match(await say('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npart', 'close'), {
    result: 'delivered',
    answer: 'part',
  })
  t.match(await say('220 mail.example ESMTP\r\n', 'close'), { result: 'failed', error: /not HTTP/ })
  for (const status of ['000', '001', '099'])
    t.match(await say(`HTTP/1.1 ${status} x\r\n\r\n`, 'close'), {
      result: 'failed',
      error: /^the answer is not HTTP$/,
    })
  t.match(await say('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n', 'close'), {
    result: 'failed',
  })
})

t.test('nothing listens there: the failure says so', async t => {
  const { call } = await webhookLoopback(t)
  const peer = await bytePeer(t, () => {}, '127.0.0.3')
  t.match(await call(`http://there.example:${peer.port}/`), {
    result: 'failed',
    error: /ECONNREFUSED/,
    address: '127.0.0.2',
  })
})

t.test('no POST is sent twice by one call', async t => {
  const { call } = await webhookLoopback(t)
  let requests = 0
  let calls = 0
  const peer = await bytePeer(t, socket => {
    socket.on('data', () => {
      requests++
      // The first call of a connection is answered; the second one arrives at a server that has had enough.
      if (calls === 1) socket.write(ok)
      else socket.resetAndDestroy()
    })
  })
  const url = `http://there.example:${peer.port}/`
  calls = 1
  t.match(await call(url), { result: 'delivered' })
  calls = 2
  t.match(await call(url), { result: 'failed', error: /before an answer/ })
  t.equal(requests, 2)
  t.equal(peer.sockets.length, 1, 'nor tried on another connection')
})

t.test('a kept connection that the server closed is left, and the call made on a new one', async t => {
  const { call, courier } = await webhookLoopback(t)
  let requests = 0
  const peer = await bytePeer(t, socket => {
    socket.on('data', () => {
      requests++
      socket.write(ok)
    })
  })
  const url = `http://there.example:${peer.port}/`
  t.match(await call(url), { result: 'delivered' })
  peer.sockets[0]?.end()
  await until('the close is seen', () => courier.size.connections === 0)
  t.match(await call(url), { result: 'delivered' })
  t.equal(peer.sockets.length, 2)

  // The close is on its way while the next call begins: it may not have been written on the old one.
  const closed = once(peer.sockets[1]!, 'close')
  peer.sockets[1]?.end()
  peer.sockets[1]?.destroy()
  await closed
  t.match(await call(url), { result: 'delivered' })
  t.equal(requests, 3)
})

t.test('a close ends what is under way, and later calls fail', async t => {
  const { call, courier } = await webhookLoopback(t)
  const peer = await bytePeer(t, socket => socket.resume())
  const url = `http://there.example:${peer.port}/`
  const under = call(url)
  await until('it is connected', () => peer.sockets.length === 1)
  courier.close()
  t.match(await under, { result: 'failed', error: 'the server is stopping' })
  t.match(await call(url), { result: 'failed', error: /the server is stopping/ })
  t.same(courier.size, { connections: 0, origins: 0 })
})
