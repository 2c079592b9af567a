import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { ApiApp } from './api-app.ts'
import { until } from './until.ts'

/** A connection by hand that has become a WebSocket: it answers nothing, and takes what comes. */
export async function openRawSocket(
  t: Test,
  { port, token }: Pick<ApiApp, 'port' | 'token'>,
): Promise<{ socket: Socket; received: () => Buffer; ended: Promise<void> }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  let bytes = Buffer.alloc(0)
  const ended = new Promise<void>(resolve => {
    socket.once('end', resolve)
    socket.once('close', () => resolve())
  })
  t.teardown(() => socket.destroy())
  socket.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
  })
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write(
    `GET /v1/ws HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nConnection: keep-alive, Upgrade\r\n` +
      'Upgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n',
  )
  const end = await until('the head', () => {
    const at = bytes.indexOf('\r\n\r\n')
    return at > 0 && at + 4
  })
  return { socket, received: () => bytes.subarray(end), ended }
}
