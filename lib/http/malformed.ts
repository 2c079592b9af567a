import { maxHeaderSize } from 'node:http'
import type { Duplex } from 'node:stream'
import { type ProblemCode, problems, statusOf } from '../base/problem.ts'

const code = 'invalid_request' satisfies ProblemCode

/** Answers what Node could not read as a request, in the form of every other error, and hangs up. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  // In the midst of another answer nothing can be said.
  const isAnswering = '_httpMessage' in socket && socket._httpMessage !== null
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const body = `${JSON.stringify({ error: code, message: messageOf(error.code) })}\n`
  const head = [
    `HTTP/1.1 ${statusOf(code)} Bad Request`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function messageOf(fault: string | undefined): string {
  if (fault === 'HPE_HEADER_OVERFLOW') {
    return `The request line and the header together are larger than ${maxHeaderSize} bytes.`
  }
  if (fault === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time.'
  return problems[code][1]
}
