import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/** Bytes that are still read of a body that was answered already, so that its client reads the answer. */
export const lingerBytes = 64 * 1024 * 1024

/**
 * Sees to it that the answer to a request can be read when the connection ends with it, also where it was given before
 * the body had come: what else the client sends is read, and thrown away. A socket that is closed with bytes unread is
 * reset, and the client, which may look for an answer only when it has sent all, would lose it (RFC 9112 §9.6).
 */
export function lingerAfter(request: IncomingMessage): void {
  const { socket, headers } = request
  if (headers['content-length'] === undefined && headers['transfer-encoding'] === undefined) return
  // What Node calls after the last answer.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket)
    else linger(socket)
  }
}

/** Whether more of the body may come than is read on for an answer that was given already; unknown is more. */
export function isMoreThanLinger({ headers, complete }: IncomingMessage): boolean {
  return !complete && !(Number(headers['content-length']) <= lingerBytes)
}

/** Says nothing more, and reads on until the other side ends; how long, `createConnections` bounds. */
export function linger(socket: Duplex): void {
  socket.end()
  // Nothing of it is a request.
  socket.removeAllListeners('data')
  socket.removeAllListeners('end')
  let left: number = lingerBytes
  socket.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) socket.destroy()
  })
  socket.resume()
}
