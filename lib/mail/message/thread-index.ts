/** Which conversation of Exchange a message belongs to, and whether it answers in it. */
export interface Conversation {
  /** The id that Exchange gave it, 32 hexadecimal digits. */
  readonly id: string
  readonly isReply: boolean
}

/** A byte that is 1, five of the time, and the id; behind these, five for each reply. */
const headBytes = 22
const replyBytes = 5
const idStart = 6

/** What Exchange says of a conversation in Thread-Index (MS-OXOMSG §2.2.1.3); null for what is none. */
export function readThreadIndex(value: string): Conversation | null {
  const text = value.slice(0, 2000).replace(/\s/g, '')
  if (!/^[A-Za-z0-9+/]{30,1400}={0,2}$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  const replies = (bytes.length - headBytes) / replyBytes
  if (bytes[0] !== 1 || !Number.isInteger(replies) || replies < 0) return null
  return { id: bytes.toString('hex', idStart, headBytes), isReply: replies > 0 }
}
