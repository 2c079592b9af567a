import { oneLine } from '../../base/one-line.ts'
/** A peer's reply as read from the wire (RFC 5321 §4.2, RFC 2034). */
export interface RemoteReply {
  readonly code: number
  /** Its enhanced code, where it gives one of the same class as the code. */
  readonly enhanced?: string
  /** The text of all its lines without the codes, as one line of at most 1,000 characters. */
  readonly text: string
}

/**
 * Reads the lines of one reply; undefined when they are none: every line begins with the same three digits
 * from 200 to 599 and "-" or, the last one, a space (RFC 5321 §4.2.1).
 */
export function readReply(lines: string): RemoteReply | undefined {
  const code = /^([2-5][0-9]{2})(?:[ \-\r\n]|$)/.exec(lines.slice(0, 4))?.[1]
  if (code === undefined) return undefined
  if (/(?:^|\n)\d{3}-[^\n]*$/.test(lines)) return undefined
  const texts: string[] = []
  let enhanced: string | undefined
  for (const line of lines.split(/\r?\n/)) {
    if (!line.startsWith(code) || !/^[ -]?$/.test(line.charAt(3))) return undefined
    const found = /^\s*([245]\.\d{1,3}\.\d{1,3})(?:\s+|$)/.exec(line.slice(4))
    // RFC 2034 §4 repeats the code on each line; one of another class contradicts the reply and is no code.
    const isCode = found?.[1]?.charAt(0) === code.charAt(0)
    if (isCode) enhanced ??= found?.[1]
    texts.push(isCode ? line.slice(4 + (found?.[0].length ?? 0)) : line.slice(4))
  }
  const reply = { code: Number(code), text: oneLine(texts.join(' ')) }
  return enhanced === undefined ? reply : { ...reply, enhanced }
}
