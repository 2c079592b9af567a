import t from 'tap'
import { bytePeer, webhookLoopback } from '../courier/webhook/loopback.ts'
import { fuzz } from '../support/fuzz.ts'

t.test('whatever a receiver answers, the call ends with an outcome', async t => {
  const { call } = await webhookLoopback(t, {}, { timeoutMs: 500 })
  let answer: Buffer = Buffer.alloc(0)
  const peer = await bytePeer(t, socket => {
    socket.once('data', () => socket.end(answer))
  })
  await fuzz(
    t,
    {
      seeds: [
        'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok',
        'HTTP/1.1 503 Busy\r\nRetry-After: 120\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n',
        'HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n',
        'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 410 Gone\r\nContent-Encoding: gzip\r\n\r\n',
      ],
      words: [
        '\r\n',
        '\n',
        '\0',
        ':',
        '200',
        '99',
        '1e3',
        'HTTP/2 200\r\n',
        'Content-Length: -1\r\n',
        'Content-Length: 2\r\n',
        'Retry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\n',
        'Retry-After: 1e99\r\n',
        'ffffffff\r\n',
        '\xff',
        'x'.repeat(5000),
        'HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
      ],
      most: 65_536,
    },
    async input => {
      answer = input
      const {
        result,
        error = '',
        answer: said = '',
        retryAfterMs = 0,
      } = await call(`http://there.example:${peer.port}/`)
      if (!['delivered', 'failed', 'gone'].includes(result)) throw new Error(`the outcome ${result}`)
      if (/[\0-\x1f\x7f]/.test(error + said)) throw new Error('control characters in what is shown')
      if (said.length > 1000 || error.length > 1000) throw new Error('more is kept than may be')
      if (!Number.isFinite(retryAfterMs) || retryAfterMs < 0) throw new Error(`Retry-After ${retryAfterMs}`)
    },
  )
})
