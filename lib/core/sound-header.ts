import { limits } from '../base/limits.ts'
import { type Content, readStart } from '../blob/content.ts'
import { countReceived, findHeaderFault, type Header, readHeader } from '../mail/header.ts'
import { Reply } from '../mail/reply.ts'

/** @throws Reply for a header that is too large (RFC 5321 §4.5.3.1.9 allows a limit) or that has gone in circles */
export async function requireSoundHeader(content: Content): Promise<Header> {
  const start = await readStart(content, limits.headerBytes)
  const fault = findHeaderFault(start)
  if (fault) throw new Reply(552, '5.3.4', `The message header is too large: ${fault}`)
  const header = readHeader(start)
  if (countReceived(header) > limits.receivedFields) {
    throw new Reply(554, '5.4.6', 'The message has gone through too many hosts; it is in a loop')
  }
  return header
}
