import { normaliseAddress } from '../address/address.ts'
import { type Header, lastField, readHeader } from '../header/header.ts'
import { readParameters } from '../header/parameters.ts'
import { type BounceText, readBounceText, reportSpokenOf } from './bounce-text.ts'
import { type Notice, noticeIn } from './notice.ts'
import { partsOf, type ReportPart, reportPartBytes, reportRecipients } from './part.ts'
import type { Action, ReturnedRecipient } from './recipient.ts'
import { whatWasSaid } from './said.ts'
import { enhancedOf, findReply, wordsOf } from './said-reply.ts'
import { readSnsBounce } from './sns.ts'

/** The parts of a message that may be a notification, as `parseMessage` and `classify` give them. */
export type Returned = BounceText & { readonly reportParts: readonly ReportPart[] }

/**
 * Reads a notification: message/delivery-status (RFC 3464, RFC 6533), or the words of those mail servers that write
 * none. Empty for what is no notification.
 * @param recipients whom the deliveries were for to whose reverse-paths it came, as `normaliseAddress` gives them
 */
export function readDsn(message: Returned, recipients: readonly string[] = []): ReturnedRecipient[] {
  const { reportParts } = message
  const parts = partsOf(reportParts, 'message/delivery-status', 'message/global-delivery-status')
  const copies = partsOf(reportParts, 'message/rfc822', 'message/global', 'text/rfc822-headers')
  const found: ReturnedRecipient[] = []
  for (const part of parts.length > 0 ? parts : copies) {
    if (found.length >= reportRecipients) break
    const status = parts.length > 0 ? part.content : statusInside(part.content)
    found.push(...readStatus(status, reportRecipients - found.length))
  }
  if (found.length === 0) found.push(...readSnsBounce(message.text))
  if (found.length === 0) {
    const hasCopy = copies.length > 0
    return readBounceText(message, recipients, hasCopy, text => readStatus(text, reportRecipients))
  }
  const notice = noticeIn(wordsAboveFields(message.text))
  const isOurs = ({ finalRecipient = '', originalRecipient = '' }: ReturnedRecipient) =>
    recipients.includes(finalRecipient) || recipients.includes(originalRecipient)
  const spokenOf = new Set([...found.filter(isOurs), ...found].slice(0, reportSpokenOf))
  return found.map(one => (spokenOf.has(one) ? withWords(one, notice, recipients) : one))
}

/** Of a notification that was passed on whole, as message/rfc822, the part with its fields: not the copy behind it, in which anybody may write fields. */
function statusInside(content: string): string {
  const head = content.slice(0, reportPartBytes)
  const type = contentTypeOf(head)
  if (!/\bdelivery-status\b/i.test(type)) return ''
  const { boundary } = readParameters(type).parameters
  // Without one nothing tells where the copy begins.
  if (!boundary) return ''
  const parts = head.split(`\n--${boundary}`).slice(1)
  return parts.find(part => /\bdelivery-status\b/i.test(contentTypeOf(part))) ?? ''
}

function contentTypeOf(text: string): string {
  return lastField(readHeader(Buffer.from(text.trimStart())), 'content-type') ?? ''
}

/** The parser shows the fields below the notice. */
function wordsAboveFields(text: string): string {
  const head = text.slice(0, reportPartBytes)
  return head.slice(0, /^(?:reporting-mta|(?:final|original)-recipient|action):/im.exec(head)?.index)
}

/** Some (OpenSMTPD) tell the reply in words alone. */
function withWords(
  returned: ReturnedRecipient,
  notice: Notice,
  recipients: readonly string[],
): ReturnedRecipient {
  if (/\p{L}/u.test(returned.text)) return returned
  const own = [returned.finalRecipient, returned.originalRecipient].filter(one => one !== undefined)
  const address = [...own, ...recipients].find(one => notice.lower.includes(one))
  const others = notice.listed.filter(one => one !== address)
  const { reply, text } = whatWasSaid(notice, address, others)
  return {
    ...returned,
    code: reply?.code ?? returned.code,
    enhanced: enhancedOf(reply?.enhanced, returned.enhanced),
    text,
  }
}

/** Of the groups of fields, of which the first is about the message (RFC 3464 §2.1), `count` recipients at the most. */
function readStatus(content: string, count: number): ReturnedRecipient[] {
  const groups = content
    .slice(0, reportPartBytes)
    .split(/\r?\n[ \t]*\r?\n/)
    .flatMap(splitGroup)
  const host = mtaOf(groups.map(group => lastField(group, 'reporting-mta')).find(Boolean))
  const found: ReturnedRecipient[] = []
  for (const group of groups) {
    if (found.length >= count) break
    found.push(...readRecipient(group, host))
  }
  return found
}

/** Some programs leave out the empty line between two recipients, and some the space before what continues a field. */
function splitGroup(text: string): Header[] {
  const folded = text.trimStart().replace(/^(?![A-Za-z][\w-]{0,60}[ \t]?:|[ \t])/gm, ' ')
  const { fields } = readHeader(Buffer.from(`${folded}\r\n`))
  const groups: { fields: (typeof fields)[number][]; bodyOffset: number }[] = []
  for (const field of fields) {
    const isNext =
      ['final-recipient', 'action'].includes(field.lowerName) &&
      groups.at(-1)?.fields.some(other => other.lowerName === field.lowerName)
    if (groups.length === 0 || isNext) groups.push({ fields: [], bodyOffset: 0 })
    groups.at(-1)!.fields.push(field)
  }
  return groups
}

function readRecipient(group: Header, reportingMta: string | undefined): ReturnedRecipient[] {
  const field = (name: string) => lastField(group, name)
  const status = /(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?![\d.])/.exec(field('status') ?? '')?.[0]
  const action = actionOf(field('action'), status)
  // A group without one is about whom it came back to.
  const isRecipient = ['final-recipient', 'original-recipient', 'action', 'status'].some(
    name => field(name) !== undefined,
  )
  if (!isRecipient || action === undefined) return []
  const diagnostic = field('diagnostic-code') ?? supplementOf(field('x-supplementary-info'))
  // RFC 3464 §2.3.6: a type and what was said; some leave out the type.
  const said = diagnostic.replace(/^\s*[A-Za-z][\w-]{0,30}\s*;/, '').trim()
  const reply = findReply(said)
  return [
    {
      finalRecipient: addressOf(field('final-recipient')),
      originalRecipient: addressOf(field('original-recipient')),
      action,
      code: reply?.code,
      enhanced: enhancedOf(reply?.enhanced, status),
      text: wordsOf(said),
      host: mtaOf(field('remote-mta')) ?? reportingMta,
    },
  ]
}

/** Cisco IronPort's: `<192.0.2.32 #5.0.0 smtp; 550 "User unknown here">`. */
function supplementOf(value = ''): string {
  const said = value.slice(value.indexOf(';') + 1).trim()
  return said.replace(/>$/, '').replaceAll('"', '')
}

/** By the status where the action is none of RFC 3464 §2.3.3. */
function actionOf(value: string | undefined, status: string | undefined): Action | undefined {
  const word = /^[\s"]*([a-z]+)/i.exec(value ?? '')?.[1]?.toLowerCase()
  const known = (['failed', 'delayed', 'delivered', 'relayed', 'expanded'] as const).find(one => one === word)
  if (known) return known
  // Words of programs that do not know those of the standard.
  if (/^(?:fail\w*|expired|rejected|bounced|undeliverable|returned)$/.test(word ?? '')) return 'failed'
  const byClass = { 2: 'delivered', 4: 'delayed', 5: 'failed' } as const
  return byClass[status?.charAt(0) as '2' | '4' | '5']
}

/** `rfc822; bob@example.net`, or with the type utf-8 (RFC 6533 §3), in which characters may stand as `\x{…}`. */
function addressOf(value: string | undefined): string | undefined {
  const [, type = '', rest = ''] = /^\s*(?:([A-Za-z0-9-]{1,30})\s*;)?(.*)$/s.exec(value ?? '') ?? []
  if (!['', 'rfc822', 'utf-8'].includes(type.toLowerCase())) return undefined
  const decoded =
    type.toLowerCase() === 'utf-8' ? rest.replace(/\\x\{([0-9A-Fa-f]{1,6})\}/g, character) : rest
  return normaliseAddress(
    decoded
      .replace(/\([^()]*\)/g, '')
      .trim()
      .replace(/^<(.*)>$/s, '$1'),
  )
}

function character(written: string, hex: string): string {
  const code = Number.parseInt(hex, 16)
  return code <= 0x10ffff ? String.fromCodePoint(code) : written
}

/** The name of an MTA (RFC 3464 §2.2.2), fit for a log line. */
function mtaOf(value: string | undefined): string | undefined {
  const name = (value ?? '').replace(/^\s*[\w-]{1,30}\s*;/, '').trimStart()
  return /^[A-Za-z0-9.:_-]{1,255}/.exec(name)?.[0].toLowerCase()
}
