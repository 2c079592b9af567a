import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { lingerLongestMs, refusedConnectionMs } from '../../lib/http/connections.ts'
import { lingerBytes } from '../../lib/http/linger.ts'
import { startApi } from '../support/api-app.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const mebibyte = 1024 * 1024
/** More than the sockets of both sides and the kernel hold. */
const large = Buffer.alloc(48 * mebibyte, '[')

const next = 'GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

/** Writes all of it, and another request, before it reads anything, as many clients do; gives what it is answered. */
async function sayAll(
  port: number,
  head: readonly string[],
  body: Buffer,
  isChunked = false,
): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.pause()
  const write = async (bytes: string | Buffer) => {
    if (!socket.write(bytes)) await once(socket, 'drain')
  }
  await write(`${head.join('\r\n')}\r\n\r\n`)
  for (let at = 0; at < body.length; at += mebibyte) {
    const piece = body.subarray(at, at + mebibyte)
    if (isChunked) await write(`${piece.length.toString(16)}\r\n`)
    await write(piece)
    if (isChunked) await write('\r\n')
  }
  if (isChunked) await write('0\r\n\r\n')
  await write(next)
  let said = ''
  socket.setEncoding('latin1')
  for await (const text of socket) said += text
  return said
}

t.test('who sends a body that is refused reads the answer', async t => {
  const { api, port, baseUrl, token, faults } = await startApi(t)
  const { id } = (await api.post('/v1/inboxes', {})).body
  const path = `/v1/inboxes/${id}/send`
  const json = 'application/json'
  const form = 'multipart/form-data; boundary=b'
  const cases = [
    { name: 'JSON', path, type: json, token, status: 413, error: 'payload_too_large' },
    { name: 'a form', path, type: form, token, status: 413, error: 'payload_too_large' },
    { name: 'a small noun', path: '/v1/pods', type: json, token, status: 413, error: 'payload_too_large' },
    { name: 'of no type', path, type: 'text/x', token, status: 415, error: 'unsupported_media_type' },
    { name: 'with no key', path, type: json, token: 'mbx_x', status: 401, error: 'unauthorized' },
    { name: 'to nowhere', path: '/v1/nowhere', type: json, token, status: 404, error: 'not_found' },
  ]
  const file = join(temporaryDir(t), 'large')
  writeFileSync(file, large)

  for (const one of cases) {
    for (const isChunked of [false, true]) {
      for (const connection of ['close', 'keep-alive']) {
        const head = [
          `POST ${one.path} HTTP/1.1`,
          'Host: x',
          `Authorization: Bearer ${one.token}`,
          `Content-Type: ${one.type}`,
          `Connection: ${connection}`,
          isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${large.length}`,
        ]
        const said = await sayAll(port, head, large, isChunked)
        const name = `${one.name}, ${isChunked ? 'in chunks' : 'of a length'}, ${connection}`
        t.match(said, new RegExp(`^HTTP/1.1 ${one.status} [\\s\\S]*"error":"${one.error}"`), name)
        // What may be without an end is not read to it for the sake of another request.
        const answers = connection === 'close' || isChunked ? 1 : 2
        t.equal(said.split('HTTP/1.1 ').length - 1, answers, `${name}: ${answers} answers`)
      }
    }
    const headers = { authorization: `Bearer ${one.token}`, 'content-type': one.type }
    const answer = await fetch(baseUrl + one.path, { method: 'POST', headers, body: large })
    t.equal(answer.status, one.status, `${one.name}, fetch`)
    t.match(await answer.json(), { error: one.error })
    for (const more of [[], ['-H', 'Connection: close', '-H', 'Expect:']]) {
      const { code, stdout, stderr } = await runProgram('curl', [
        '-sS',
        ...more,
        ...['-H', `Authorization: Bearer ${one.token}`, '-H', `Content-Type: ${one.type}`],
        ...['--data-binary', `@${file}`, baseUrl + one.path],
      ])
      t.match(stdout, `"error":"${one.error}"`, `${one.name}, curl ${more.join(' ')}: ${code} ${stderr}`)
    }
  }
  t.strictSame(faults, [])
})

t.test('a header that is too large, sent to its end, is answered', async t => {
  const { port, faults } = await startApi(t)
  const said = await sayAll(
    port,
    ['GET /health HTTP/1.1', 'Host: x', `X: ${'x'.repeat(8 * mebibyte)}`],
    large,
  )
  t.match(said, /^HTTP\/1.1 400 [\s\S]*"invalid_request"/)
  t.strictSame(faults, [])
})

t.test('what is read on has its bounds', async t => {
  const { port, token, clock, door, faults } = await startApi(t)
  const refused = async (length: string) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
    t.teardown(() => socket.destroy())
    socket.write(
      `POST /v1/pods HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: text/x\r\n${length}\r\n\r\n`,
    )
    const [said] = await once(socket, 'data')
    t.match(String(said), /^HTTP\/1.1 415 [\s\S]*Connection: close/)
    return { socket, closed: new Promise<void>(resolve => socket.once('close', () => resolve())) }
  }

  await t.test('of bytes', async t => {
    const { socket, closed } = await refused('Content-Length: 1000000000000')
    let sent = 0
    const isClosed = { now: false }
    closed.then(() => {
      isClosed.now = true
    })
    while (!isClosed.now) {
      sent += mebibyte
      if (socket.write(large.subarray(0, mebibyte))) continue
      await Promise.race([new Promise(resolve => socket.once('drain', resolve)), closed])
    }
    // What the kernel holds comes on top of it.
    t.ok(sent >= lingerBytes && sent < 2 * lingerBytes, `${sent}`)
  })

  await t.test('of time', async t => {
    const { socket, closed } = await refused('Transfer-Encoding: chunked')
    let isClosed = false
    closed.then(() => {
      isClosed = true
    })
    await until('the connection is cut off', () => {
      clock.advance(lingerLongestMs / 10)
      // Who says nothing does not come to know.
      socket.write('1\r\nx\r\n')
      return isClosed
    })
    t.pass()
  })

  await t.test('and the end of the server does not wait for more', async t => {
    await refused('Transfer-Encoding: chunked')
    let isStopped = false
    const stopped = door.stop().then(() => {
      isStopped = true
    })
    let ms = 0
    // The watch may see the end of it after the first of these steps, and is not to wait for `lingerMs`.
    await until('it has stopped', () => {
      if (isStopped) return true
      ms += refusedConnectionMs / 40
      clock.advance(refusedConnectionMs / 40)
      return false
    })
    await stopped
    t.ok(ms < lingerLongestMs, `${ms}`)
  })
  t.strictSame(faults, [])
})
