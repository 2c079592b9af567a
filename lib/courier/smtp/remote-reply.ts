import type { Readable } from 'node:stream'
import type SMTPConnection from 'nodemailer/lib/smtp-connection'
import { oneLine } from '../../base/text.ts'

/** One reply of a peer with all its lines, in bytes; a longer one is not read on. */
export const smtpReplyBytes = 16 * 1024

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

/** What is heard of a peer. */
export interface Hearing {
  /** Is told of each whole reply. */
  onReply: () => void
  /** What was said since it was emptied, and was due: a character for each byte. */
  text: string
}

/** What of Nodemailer's connection takes the peer's bytes and says ours. */
interface Talk {
  _onData: (chunk: Buffer) => void
  _sendCommand: (...given: unknown[]) => void
  _createSendStream: (...given: unknown[]) => Readable
  _onResponseTooLarge: () => void
  _onError: (error: Error, code: string, response: false, command: string) => void
}

/** The code of the error of a peer that is out of step. */
export const outOfStep = 'EOUTOFSTEP'

/**
 * Bounds what a peer says from one command to the next (`smtpReplyBytes`), however it is cut into lines: of Nodemailer's
 * bound empty lines are no part, and it keeps each and takes them one by one. They answer nothing, and do not come to it.
 *
 * Nodemailer keeps what was said too early and takes it for the reply to its next command, so that a peer that says 250 four
 * times in advance would have taken mail that it has not seen. Each reply must have been asked for by the time it begins
 * (RFC 5321 §2.1: "one at a time", and §4.1.1.5; RFC 2920 for several): the greeting, commands, and the final dot. Not asked for may be 421 (§3.8), and a
 * refusal while the message is sent. All else ends the session.
 * @param connection one that is not connected yet
 * @returns a place for who wants to hear of whole replies; a line that says that more comes (`250-`) is none
 */
export function boundReplies(connection: SMTPConnection): Hearing {
  const talk = connection as unknown as Talk
  const { _onData: take, _sendCommand: say, _createSendStream: send } = talk
  let bytes = 0
  /** How the line begins that has not ended. */
  let head = ''
  /** How many replies are due: the first is the greeting. */
  let due = 1
  /** From the first MAIL on. */
  let isForMail = false
  /** From 354 on until the message has ended. */
  let isSending = false
  const hearing: Hearing = { onReply() {}, text: '' }
  /** @param line as far as it is there */
  const mayBegin = (line: string) => due > 0 || is421(line) || (isSending && /^[45]/.test(line))
  talk._sendCommand = (...given) => {
    bytes = 0
    due++
    isSending = false
    isForMail ||= String(given[0]).startsWith('MAIL FROM')
    say.apply(connection, given)
  }
  talk._createSendStream = (...given) => {
    const stream = send.apply(connection, given)
    // Not before: what was read of the message may stand in its buffers yet, and the dot behind it.
    return stream.once('end', () => {
      isSending = false
      due++
    })
  }
  talk._onData = chunk => {
    bytes += chunk.length
    if (bytes > smtpReplyBytes) return talk._onResponseTooLarge()
    const text = chunk.toString('latin1').replaceAll(/\n\s+/g, '\n')
    const said = head === '' ? text.trimStart() : text
    if (said === '') return
    const lines = (head + said).split('\n')
    /** What of `said` was due. */
    let length = -head.length
    head = lines.pop()!.slice(0, 4)
    let isInStep = true
    for (const line of lines) {
      isInStep = mayBegin(line)
      if (!isInStep) break
      length += line.length + 1
      if (/^\d+-/.test(line)) continue
      due = Math.max(0, due - 1)
      if (line.startsWith('354')) isSending = true
      if (/^\d{3}/.test(line)) hearing.onReply()
    }
    if (isInStep) {
      isInStep = head === '' || mayBegin(head)
      if (isInStep) length = said.length
    }
    // The answer of a transaction counts, whatever stands behind it: how TCP cuts the two apart is nobody's word.
    const answer = isInStep || isForMail ? said.slice(0, Math.max(0, length)) : ''
    if (hearing.text.length < smtpReplyBytes) hearing.text += answer
    if (answer !== '') take.call(connection, Buffer.from(answer, 'latin1'))
    if (!isInStep) refuse()
  }
  function refuse(): void {
    talk._onError(new Error('the host said what it was not asked'), outOfStep, false, 'CONN')
  }
  return hearing
}

/**
 * Nodemailer goes on at any 2yz or 3yz to DATA. A host that says 250 there reads the message as commands, and its reply to
 * the first line would be taken for that to the message (RFC 5321 §4.3.2: 354 alone).
 */
export function goOnAt354Alone(connection: SMTPConnection): void {
  type Done = (error: Error | null, info?: unknown) => void
  const replies = connection as unknown as { _actionDATA: (lines: string, done: Done) => void }
  const { _actionDATA: take } = replies
  replies._actionDATA = (lines, done) =>
    take.call(connection, lines, (error, info) => {
      if (error || readReply(lines)?.code === 354) return done(error, info)
      const refusal = new Error('the host did not answer DATA with 354')
      done(Object.assign(refusal, { code: 'EENVELOPE', command: 'DATA', response: lines }))
    })
}

function is421(line: string): boolean {
  return '421'.startsWith(line.slice(0, 3))
}
