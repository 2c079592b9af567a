import { type IncomingMessage, maxHeaderSize, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidRequest, Problem } from '../base/problem.ts'
import { answerOnSocket } from './socket-answer.ts'

/** Answers what Node could not read as a request, in the form of every other error with these `fields`, and hangs up. */
export function refuseMalformed(
  error: NodeJS.ErrnoException,
  socket: Duplex,
  fields: Readonly<Record<string, string>>,
): void {
  const answer = '_httpMessage' in socket ? (socket._httpMessage as ServerResponse | null) : null
  // In the midst of an answer nothing can be said; nor before one to a request that was whole, or it would be taken for that.
  const isAnswering = answer !== null && (answer.headersSent || answer.req.complete)
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  answerOnSocket(socket, problemOf(error), { fields })
}

/** What is wrong with the Host of a request (RFC 9112 §3.2): there is one, but in HTTP/1.0, and never several. */
export function hostFault({ rawHeaders, httpVersion }: IncomingMessage): Problem | undefined {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') count++
  if (count > 1) return invalidRequest('', 'The request has more than one Host field')
  return count === 0 && httpVersion === '1.1'
    ? invalidRequest('', 'The request has no Host field, which HTTP/1.1 asks for')
    : undefined
}

/** The answer to CONNECT. */
export function noProxy(): Problem {
  return invalidRequest('', 'CONNECT asks for a proxy, and this is none')
}

/** A process that stood still finds that it waited too long for what has come: who sent it is to send it again (RFC 9110 §15.5.9). */
function problemOf(error: NodeJS.ErrnoException): Problem {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return new Problem('request_timeout')
  return invalidRequest('', messageOf(error))
}

function messageOf({ code, reason }: NodeJS.ErrnoException & { readonly reason?: unknown }): string {
  if (code === 'HPE_HEADER_OVERFLOW') {
    return `The request line and the header together are larger than ${maxHeaderSize} bytes`
  }
  // The words of the parser, which has none of the request's in them.
  const why = typeof reason === 'string' && reason !== '' ? `: ${reason}` : ''
  return `This can not be read as a request of HTTP/1.1${why}`
}
