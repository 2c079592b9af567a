import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { mock } from 'node:test'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { Problem } from '../../lib/base/problem.ts'
import { requestsWatchMs } from '../../lib/base/time.ts'
import { createKey, revokeAnyKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { bodyLeastBytes, bodyLeastMs, createBodyWatch } from '../../lib/http/body-pace.ts'
import { readBytes } from '../../lib/http/bytes.ts'
import { jsonContentBytes } from '../../lib/http/json-scan.ts'
import { apiOf } from '../support/api.ts'
import { startApi } from '../support/api-app.ts'
import { turnsDuring } from '../support/event-loop.ts'
import { manyTimes } from '../support/hostile.ts'
import { until } from '../support/until.ts'

const letter = { to: 'bob@example.net', subject: 's', body: 'b' }
const megabyte = 1024 * 1024

t.test('attachments in JSON', async t => {
  const { api, apiWith, app, token, faults } = await startApi(t)
  const { id: inbox } = (await api.post('/v1/inboxes', {})).body
  const path = `/v1/inboxes/${inbox}/send`
  let keys = 0
  const post = (body: unknown, key = `k${keys++}`) =>
    apiWith(token).call('POST', path, body, { 'idempotency-key': key })
  const newest = async () => (await api.get(`/v1/inboxes/${inbox}/messages?limit=1`)).body.data[0]
  const sizes = [0, 1, 100, jsonContentBytes - 1, jsonContentBytes + 1, 3 * megabyte + 1]
  const bytes = sizes.map(size => Buffer.from(Array.from({ length: size }, (_, index) => (index * 7) % 256)))

  await t.test('of every size, as content and as data, come as they are', async t => {
    for (const name of ['content', 'data']) {
      const attachments = bytes.map((one, index) => ({
        filename: `${index}.bin`,
        [name]: one.toString('base64'),
      }))
      t.equal((await post({ ...letter, attachments })).status, 200)
      for (const [index, { url }] of (await newest()).attachments.entries()) {
        t.ok((await api.get(url)).bytes.equals(bytes[index]!), `${name} of ${sizes[index]}`)
      }
    }
  })

  await t.test('are the same request however their text is written', async t => {
    const large = bytes.at(-1)!.toString('base64')
    const send = (content: string, name = 'content') =>
      post(
        `${JSON.stringify(letter).slice(0, -1)},"attachments":[{"filename":"f","${name}":"${content}"}]}`,
        'one key',
      )
    const first = await send(large)
    t.equal(first.status, 200)
    for (const written of [
      large.replaceAll('/', '\\/'),
      large.replace(/.{76}/g, '$&\\r\\n'),
      large.replaceAll('+', '\\u002b'),
      large.replace(/=+$/, ''),
    ]) {
      t.strictSame((await send(written)).body, first.body)
    }
    t.strictSame((await send(large, 'data')).body, first.body)
    t.equal((await send(`${large.slice(0, -8)}AAAAAA==`)).body.error, 'idempotency_key_conflict')
  })

  await t.test('faults have the same paths, small and large', async t => {
    for (const size of [10, jsonContentBytes * 2]) {
      const good = 'A'.repeat(size * 4)
      const file = { filename: 'f', content: good }
      for (const [attachments, fault] of [
        [[file, { ...file, content: `${good}!` }], '/attachments/1/content'],
        [[{ filename: 'f', data: `${good}A` }], '/attachments/0/content'],
        [[{ ...file, data: good }], '/attachments/0/data'],
        [[{ ...file, contents: good }], '/attachments/0/contents'],
        [[{ content: good }], '/attachments/0/filename'],
        [[{ ...file, content: [good] }], '/attachments/0/content'],
        [[good], '/attachments/0'],
        [{ 0: file }, '/attachments'],
      ] as const) {
        const { status, body } = await post({ ...letter, attachments })
        t.strictSame([status, body.error, body.details?.[0].path], [400, 'invalid_request', fault])
      }
      const twice = `{"attachments":[{"content":"${good}"}],${JSON.stringify(letter).slice(1, -1)},"attachments":[]}`
      t.equal((await post(twice)).status, 200, 'the last of a name counts')
      t.strictSame((await newest()).attachments, [])
      for (const broken of [`${good}\\x`, `${good}\n`]) {
        const { body } = await post(`{"attachments":[{"content":"${broken}"}]}`)
        t.match(body, { error: 'invalid_request', message: /^body is not JSON/, details: [{ path: '' }] })
      }
    }
  })

  await t.test('25 MB of them let others have the event loop', async t => {
    const content = Buffer.alloc(25 * megabyte, 'x').toString('base64')
    const body = JSON.stringify({ ...letter, attachments: [{ filename: 'f', content }] })
    const { result, turns } = await turnsDuring(() => post(body))
    t.equal(result.status, 200)
    t.ok(turns > 40, `${turns} turns`)
    const over = { filename: 'g', content: 'AAAA' }
    t.equal(
      (await post({ ...letter, attachments: [{ filename: 'f', content }, over] })).body.error,
      'attachments_too_large',
    )
  })

  await t.test('what would be made into gigabytes is refused', async t => {
    for (const [body, code] of [
      ['['.repeat(30 * manyTimes), 'invalid_request'],
      ['{"":'.repeat(5 * manyTimes), 'invalid_request'],
      [`{${'"":0,'.repeat(5 * manyTimes)}"":0}`, 'invalid_request'],
      [`{"body":"${'x'.repeat(30 * manyTimes)}"}`, 'payload_too_large'],
      [' '.repeat(30 * manyTimes), 'payload_too_large'],
    ] as const) {
      t.equal((await post(body)).body.error, code, body.slice(0, 20))
    }
    const form = `--b\r\nContent-Disposition: form-data; name="cc"\r\n\r\n${'['.repeat(manyTimes)}\r\n--b--\r\n`
    const asForm = await fetch(`${app.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'multipart/form-data; boundary=b' },
      body: form,
    })
    t.equal(asForm.status, 400)
  })
  t.strictSame(faults, [])
})

t.test('a body that comes slowly', async t => {
  const { app, api, port, faults } = await startApi(t)
  const begin = (token: string, length: number) => {
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`,
    )
    socket.write(`Content-Length: ${length}\r\n\r\n{`)
    return socket
  }
  const key = await createKey(app, operator, { account: true }, null)
  const before = (await api.get('/v1/pods')).body.total
  const socket = begin(key.token, 2)
  // It was let in before it is revoked: a request on another connection is answered after the header of this was read.
  t.equal((await apiOf(app.baseUrl, key.token).get('/v1/pods')).status, 200)
  await revokeAnyKey(app, key.id)
  socket.write('}')
  t.match(await text(socket), /^HTTP\/1\.1 401 [\s\S]*"unauthorized"/)
  t.equal((await api.get('/v1/pods')).body.total, before, 'and nothing was done')
  t.strictSame(faults, [])
})

t.test('a body in many pieces, plain and compressed', async t => {
  const { api, port, token } = await startApi(t)
  const socket = connect(port, '127.0.0.1')
  socket.write(
    `POST /v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  const pieces = [...`{"name":"${'x'.repeat(20)}"${' '.repeat(200_000)}}`]
  socket.write(`${pieces.map(piece => `1\r\n${piece}\r\n`).join('')}0\r\n\r\n`)
  t.match(await text(socket), /^HTTP\/1\.1 201 [\s\S]*"name":"x{20}"/)
  t.ok((await api.get('/v1/pods')).body.total > 0)
})

t.test('a body that holds room must come on', async t => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  let seconds = 0
  const watchBody = createBodyWatch({ monotonicMs: () => seconds * 1000 })
  const refused: string[] = []
  /** One that brings so many bytes in each second. */
  const watch = (name: string, perSecond: number) => {
    const end = watchBody({
      arrived: () => 300_000 + seconds * perSecond,
      refuse(problem) {
        refused.push(`${name} after ${seconds} s: ${problem.code}`)
        end()
      },
    })
    return end
  }
  const perSecond = bodyLeastBytes / (bodyLeastMs / 1000)
  const ends = [watch('fast', 10 * perSecond), watch('steady', Math.ceil(perSecond))]
  watch('slow', Math.floor(perSecond) - 10)
  watch('still', 0)
  for (const end of [10, 60]) {
    for (; seconds < end; seconds++) mock.timers.tick(requestsWatchMs)
    mock.timers.tick(requestsWatchMs)
    t.strictSame(refused, ['slow after 10 s: invalid_request', 'still after 10 s: invalid_request'])
  }
  for (const end of ends) end()
})

t.test('who holds room with a body that hardly comes is told so, and has it no more', async t => {
  const { port, token, clock, faults } = await startApi(t)
  for (const field of ['Content-Length: 900000', 'Transfer-Encoding: chunked']) {
    const socket = connect({ port, host: '127.0.0.1' })
    t.teardown(() => socket.destroy())
    let said = ''
    socket.setEncoding('latin1').on('data', more => {
      said += more
    })
    const piece = field.startsWith('T')
      ? (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
      : String
    socket.write(
      `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${field}\r\n\r\n${piece(' '.repeat(300_000))}`,
    )
    await until('it is refused', () => {
      clock.advance(bodyLeastMs / 10)
      socket.write(piece(' '))
      return /too slowly/.test(said)
    })
    t.match(
      said,
      /^HTTP\/1\.1 400 [\s\S]*"error":"invalid_request","message":"body came too slowly, .*send less\."/,
    )
  }
  t.strictSame(faults, [])
})

t.test('a body takes its share as it grows, and is refused where there is none', async t => {
  const body = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => (index * 7) % 251))
  const sizes: number[] = []
  const bounds = [
    { grow: (bytes: number) => void sizes.push(bytes), watch: () => () => {} },
    {
      grow() {
        throw new Problem('unavailable')
      },
      watch: () => () => {},
    },
  ]
  const results: Promise<Buffer>[] = []
  const server = createServer((request, response) => {
    const read = readBytes(request, 4 * megabyte, bounds[results.length]!)
    results.push(read)
    read.catch(() => {}).finally(() => response.end())
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  for (const _bound of bounds) {
    await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body })
  }
  t.ok((await results[0]!).equals(body))
  t.ok(sizes.at(-1)! >= body.length, `${sizes}`)
  t.ok(
    sizes.every((size, index) => size - (sizes[index - 1] ?? 0) <= 2 * megabyte),
    `${sizes}`,
  )
  await t.rejects(results[1]!, { code: 'unavailable' })
})

t.test('a body ends at its bound, whoever says or does not say how long it is', async t => {
  const most = 100_000
  const bounds = { grow() {}, watch: () => () => {} }
  const answers: string[] = []
  const server = createServer((request, response) => {
    // A promise: what is not taken at all is refused before anything is read.
    const read = (async () => readBytes(request, most, bounds))()
    read
      .then(
        body => answers.push(`${body.length}`),
        error => answers.push(error.code),
      )
      .finally(() => response.end())
  })
  t.teardown(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const send = async (body: Buffer, headers: Record<string, string>) => {
    const asked = request({ port, host: '127.0.0.1', method: 'POST', headers, agent: false })
    asked.on('error', () => {})
    asked.end(body)
    const [answer] = await once(asked, 'response')
    answer.resume()
    await once(answer, 'close')
    return answers.splice(0).join()
  }
  const folds = { gzip: gzipSync, 'X-Gzip': gzipSync, deflate: deflateSync, br: brotliCompressSync }
  for (const size of [0, 1, most - 1, most, most + 1, 50 * most]) {
    const body = Buffer.alloc(size, ' ')
    const answer = size > most ? 'payload_too_large' : `${size}`
    t.equal(await send(body, { 'content-length': `${size}` }), answer, `${size} bytes`)
    t.equal(await send(body, { 'transfer-encoding': 'chunked' }), answer, `${size} bytes in chunks`)
    for (const [encoding, fold] of Object.entries(folds)) {
      const folded = fold(body)
      const headers = { 'content-encoding': encoding, 'content-length': `${folded.length}` }
      t.equal(await send(folded, headers), answer, `${size} bytes in ${encoding}`)
      const half = folded.subarray(0, folded.length >> 1)
      const cutOff = { ...headers, 'content-length': `${half.length}` }
      if (size === most) t.equal(await send(half, cutOff), 'invalid_request', `half of ${encoding}`)
    }
  }
  for (const encoding of ['zstd', 'gzip, br', 'compress'])
    t.equal(await send(Buffer.from('x'), { 'content-encoding': encoding }), 'unsupported_media_type')
  t.equal(await send(Buffer.from('x'), { 'content-encoding': 'Identity' }), '1')
})
