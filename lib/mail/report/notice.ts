import type { ReplyClass } from '../../base/reply.ts'
import { normaliseAddress } from '../address/address.ts'
import { reportPartBytes, reportRecipients } from './part.ts'
import type { SaidReply } from './said-reply.ts'

/** Paragraphs of the text of a report. */
export const reportParagraphs = 100

/** What a notice says of one recipient. */
export interface Said {
  readonly reply: SaidReply | undefined
  readonly text: string
  readonly replyClass: ReplyClass | undefined
}

/** The words of a notice, without the message that comes back below them; read once for all recipients. */
export interface Notice {
  readonly text: string
  readonly lower: string
  /** What stands between empty lines, reportParagraphs of them. */
  readonly paragraphs: readonly { readonly start: number; readonly text: string }[]
  /** The addresses that stand at the beginning of a line, as those do that a notice is about. */
  readonly listed: readonly string[]
  /** Each address that stands in it, and where, from the beginning on. */
  readonly named: readonly { readonly at: number; readonly address: string }[]
  /** What was found out about a text of it already. */
  readonly known: Map<string, ReplyClass | undefined>
  /** Whether a copy of a message stands below, that begins with its fields. */
  readonly hasFields: boolean
}

/** Words above a copy of the message: of Exim, qmail, OpenSMTPD, Google, GMX, IMail, Notes, Yahoo, older ones. */
const copyBegins =
  /^[ \t>]*(?:[-=|*]+ ?(?:this is a copy of|below this line is|(?:the )?(?:headers?|body) of|(?:original|unsent|returned|forwarded) message|message (?:text|headers?) follows?)|below is a copy of|message headers follow|original message (?:headers )?follows?|original message headers:|your (?:original )?message (?:reads|follows))/im
/** Or the copy itself: its part, where the MIME around it is broken, or fields that only a message begins with. */
const copyItself =
  /^(?:content-type:[ \t]*(?:message\/rfc822|text\/rfc822-headers)|(?:received|return-path|dkim-signature):)/im

export function noticeIn(whole: string): Notice {
  const head = whole.slice(0, reportPartBytes)
  const words = copyBegins.exec(head)?.index
  const fields = copyItself.exec(head)?.index
  const text = head.slice(0, Math.min(words ?? head.length, fields ?? head.length))
  const lower = text.toLowerCase()
  return {
    text,
    lower,
    paragraphs: paragraphsOf(text),
    listed: listedIn(lower),
    named: namedIn(lower),
    known: new Map(),
    hasFields: fields !== undefined,
  }
}

function paragraphsOf(text: string): Notice['paragraphs'] {
  const paragraphs: { start: number; text: string }[] = []
  let start = -1
  let end = 0
  const close = () => {
    if (start >= 0) paragraphs.push({ start, text: text.slice(start, end) })
    start = -1
  }
  for (const line of text.matchAll(/[^\n]+/g)) {
    // The line before was empty when a line feed stands before the one that ended it.
    if (line[0].trim() === '' || text.charAt(line.index - 2) === '\n') close()
    if (paragraphs.length >= reportParagraphs) return paragraphs
    if (line[0].trim() === '') continue
    if (start < 0) start = line.index
    end = line.index + line[0].length
  }
  close()
  return paragraphs
}

const inLocalPart = /[^\s<>:,;()"'[\]@=]/
const inDomain = /[^\s<>:,;()"'[\]@]/
const endsSentence = /[.!?*]/

/** By each at sign, for one pattern that looks for the whole takes long to be judged. */
function namedIn(lower: string): Notice['named'] {
  const named: { at: number; address: string }[] = []
  let from = 0
  for (let at = lower.indexOf('@'); at >= 0; at = lower.indexOf('@', at + 1)) {
    let start = at
    while (start > from && at - start < 64 && inLocalPart.test(lower[start - 1]!)) start--
    let end = at + 1
    while (end < lower.length && end - at <= 255 && inDomain.test(lower[end]!)) end++
    while (end > at + 1 && endsSentence.test(lower[end - 1]!)) end--
    if (start === at || end === at + 1) continue
    named.push({ at: start, address: lower.slice(start, end) })
    from = end
  }
  return named
}

/** At the beginning of a line, in quotes, in angle brackets, behind a bullet or `Recipient:`; not those that can help. */
const atLineBegin =
  /^[ \t>*|-]{0,40}(?:(?:failed |final |original )?(?:recipients?|address|to)(?: address)?:[ \t]{0,20})?["'<([]{0,3}([^\s<>:,;()"'[\]@]{1,64}@[^\s<>:,;()"'[\]]{1,255})/gm
const helpers = /^(?:postmaster|mailer-daemon|abuse|help\w*|support|hostmaster|admin\w*|mailto)[@+-]/

function listedIn(lower: string): string[] {
  const found = new Set<string>()
  for (const [, written] of lower.matchAll(atLineBegin)) {
    if (found.size >= reportRecipients) break
    const address = normaliseAddress(written!.replace(/\.$/, ''))
    if (address !== undefined && !helpers.test(address)) found.add(address)
  }
  return [...found]
}
