import { limits } from '../base/limits.ts'
import { type Content, openContent } from '../blob/content.ts'
import { countReceived, findHeaderFault, type Header, readHeader } from '../mail/header.ts'
import { Reply } from '../mail/reply.ts'

/** @throws Reply for a header that is too large (RFC 5321 §4.5.3.1.9 allows a limit) or that has gone in circles */
export async function requireSoundHeader(content: Content): Promise<Header> {
  const start = content.kind === 'memory' ? content.bytes : await readStart(content)
  const fault = findHeaderFault(start)
  if (fault) throw new Reply(552, '5.3.4', `The message header is too large: ${fault}`)
  const header = readHeader(start)
  if (countReceived(header) > limits.receivedFields) {
    throw new Reply(554, '5.4.6', 'The message has gone through too many hosts; it is in a loop')
  }
  return header
}

/** As much of a spooled message as its header may take, and a little more to see that it takes more. */
async function readStart(content: Content): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of openContent(content) as AsyncIterable<Buffer>) {
    chunks.push(chunk)
    length += chunk.length
    if (length > limits.headerBytes + 4) break
  }
  return Buffer.concat(chunks)
}
