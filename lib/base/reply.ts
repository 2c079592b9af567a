/**
 * What an SMTP peer is answered (RFC 5321 §4.2, with the enhanced code of RFC 2034 and RFC 3463).
 * Thrown, it refuses: the text is short and safe for strangers; `reason` is for our log alone.
 */
export class Reply extends Error {
  override readonly name = 'Reply'
  readonly code: number
  readonly enhanced: string
  readonly text: string
  readonly reason: string

  constructor(code: number, enhanced: string, text: string, reason: string = text) {
    super(`${code} ${enhanced} ${text}`)
    this.code = code
    this.enhanced = enhanced
    this.text = text
    this.reason = reason
  }
}

/** What a refusal is about; config/replies.txt says what each means. */
export const replyClasses = [
  'recipient',
  'full',
  'sender',
  'policy',
  'reputation',
  'content',
  'protocol',
  'host',
  'greylist',
  'rate',
] as const
export type ReplyClass = (typeof replyClasses)[number]
