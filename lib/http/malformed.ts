import { maxHeaderSize } from 'node:http'
import type { Duplex } from 'node:stream'
import { invalidRequest, Problem } from '../base/problem.ts'
import { answerOnSocket } from './socket-answer.ts'

/** Answers what Node could not read as a request, in the form of every other error, and hangs up. */
export function refuseMalformed(error: NodeJS.ErrnoException, socket: Duplex): void {
  // In the midst of another answer nothing can be said.
  const isAnswering = '_httpMessage' in socket && socket._httpMessage !== null
  if (!socket.writable || isAnswering || error.code === 'ECONNRESET') {
    socket.destroy()
    return
  }
  const message = messageOf(error.code)
  answerOnSocket(socket, message === undefined ? new Problem('invalid_request') : invalidRequest('', message))
}

function messageOf(fault: string | undefined): string | undefined {
  if (fault === 'HPE_HEADER_OVERFLOW') {
    return `The request line and the header together are larger than ${maxHeaderSize} bytes`
  }
  if (fault === 'ERR_HTTP_REQUEST_TIMEOUT') return 'The request did not arrive in time'
  return undefined
}
