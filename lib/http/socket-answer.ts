import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Problem, statusOf } from '../base/problem.ts'
import { linger } from './linger.ts'
import { bodyOf, headersOf } from './problems.ts'

/**
 * Answers with a problem where there is no response to write to, in the form of every other error, and hangs up.
 * @param about whether HEAD was asked, to which the answer has no body (RFC 9110 §9.3.2), and further header fields
 */
export function answerOnSocket(
  socket: Duplex,
  problem: Problem,
  { isHead = false, fields = {} }: { isHead?: boolean; fields?: Readonly<Record<string, string>> } = {},
): void {
  const status = statusOf(problem.code)
  const body = `${JSON.stringify(bodyOf(problem))}\n`
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headersOf(problem),
    ...fields,
    Connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${isHead ? '' : body}`)
  linger(socket)
}
