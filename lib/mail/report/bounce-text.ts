import { limits } from '../../base/limits.ts'
import { normaliseAddress } from '../address/address.ts'
import { fieldValues, type Header } from '../header/header.ts'
import type { ReturnedRecipient } from './recipient.ts'
import { findReply, wordsOf } from './said-reply.ts'

/** A message that may be a bounce in plain words. */
export interface BounceText {
  readonly header: Header
  readonly subject: string
  readonly text: string
  /** Whether its header and envelope are those of a bounce (`classify`). */
  readonly isBounce: boolean
}

/** Where the notice ends and the message that comes back begins. */
const copyBegins =
  /^[ \t>]*(?:-+ ?(?:this is a copy of|below this line is|original message|unsent message|returned message|the body of|forwarded message)|below is a copy of|message headers follow|original message (?:headers )?follows?|original message headers:|your (?:original )?message (?:reads|follows))/im
/** A warning that it takes longer; such have X-Failed-Recipients too. */
const warns =
  /\b(?:this is a warning message only|not yet been delivered|has been delayed|will (?:keep trying|continue trying|be retried|try again)|do not need to resend)\b/i
const warnsInSubject = /\b(?:delay(?:ed)?|warning|\(delay\)|deferred)\b/i
/** qmail's form (QSBMF): `<address>:` on a line of its own; others have `address: 550 …`. */
const aboutAddress = /^[ \t]*<?([^\s<>:,;@]{1,64}@[^\s<>:,;]{1,255})>?:(?:[ \t]|$)/gm
const givesUp =
  /\b(?:permanent (?:fatal )?error|i've given up|permanently|an error has occurred while attempting to deliver)\b/i

/**
 * Reads what Exim, qmail, OpenSMTPD and others say in words alone (RFC 3464 asks for more than they write). Doubt means
 * that it is none: it must look like a bounce, name the recipient or quote a reply, and say that this is the end.
 * @param readStatus reads the fields of RFC 3464, which stand in the text when the MIME around them is broken
 */
export function readBounceText(
  message: BounceText,
  readStatus: (text: string) => ReturnedRecipient[],
): ReturnedRecipient[] {
  if (!message.isBounce) return []
  const text = message.text.slice(0, limits.reportPartBytes)
  if (/^Final-Recipient:/im.test(text)) return readStatus(text)
  const notice = noticeIn(text)
  const failed = fieldValues(message.header, 'x-failed-recipients').join(',').split(',')
  const named = addresses(failed.map(one => one.trim()))
  const addressed =
    named.length > 0 ? named : addresses([...notice.text.matchAll(aboutAddress)].map(([, it]) => it!))
  const action = warns.test(notice.text) || warnsInSubject.test(message.subject) ? 'delayed' : 'failed'
  const isFinal = named.length > 0 || (addressed.length > 0 && givesUp.test(notice.text))
  const returned = addressed.length > 0 ? addressed : [undefined]
  return returned.flatMap(address => {
    const { said, reply } = whatWasSaid(notice, address)
    const isPermanent = reply?.code === undefined ? reply?.enhanced?.startsWith('5.') : reply.code >= 500
    if (!isFinal && !isPermanent) return []
    return [
      {
        finalRecipient: address,
        originalRecipient: undefined,
        action,
        code: reply?.code,
        enhanced: reply?.enhanced,
        text: said,
        host: undefined,
      } as const,
    ]
  })
}

function addresses(texts: readonly string[]): string[] {
  const found = texts.slice(0, limits.reportRecipients).map(normaliseAddress)
  return [...new Set(found.filter(address => address !== undefined))]
}

/** The words of a notice, without the message that comes back below them; read once for all recipients. */
export interface Notice {
  readonly text: string
  readonly lower: string
}

export function noticeIn(whole: string): Notice {
  const head = whole.slice(0, limits.reportPartBytes)
  const text = head.slice(0, copyBegins.exec(head)?.index)
  return { text, lower: text.toLowerCase() }
}

/**
 * What a notice says of an address: the reply that is quoted after it, to the end of its paragraph; without one that
 * begins with its three digits the paragraph of the address.
 */
export function whatWasSaid({ text, lower }: Notice, address: string | undefined) {
  const at = address === undefined ? -1 : lower.indexOf(address)
  const rest = at < 0 ? text : text.slice(at + address!.length)
  const reply = findReply(rest)
  // qmail marks the code behind the words.
  const from = reply?.code === undefined ? rest.replace(/^[>:\s]+/, '') : rest.slice(reply.index).trimStart()
  const [paragraph = ''] = from.split(/\r?\n[ \t]*\r?\n/, 1)
  return { reply, said: wordsOf(paragraph) }
}
