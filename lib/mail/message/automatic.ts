import { fieldValues, type Header, lastField } from '../header/header.ts'
import { isForwardSubject, isReplySubject } from '../quote/subject.ts'
import { isProgramText, isTemplate } from '../text/program-words.ts'
import {
  absenceWords,
  noReplyNames,
  receiptWords,
  roleNames,
  senderHosts,
  serverNames,
} from './automatic-words.ts'

/** Why a message may, or may not, be answered by a program, as far as its own words say. */
export type AuthorKind = 'person' | 'bounce' | 'automatic' | 'bulk' | 'code' | 'receipt' | 'calendar'

export interface Classified {
  readonly category: 'personal' | 'automated' | 'marketing' | 'bounce'
  /** Whether a person, or an agent in the place of one, wrote it. Programs do not answer anything else (RFC 3834 §2). */
  readonly autoReplyable: boolean
  readonly autoReplyReason: AuthorKind
  /** The rule that decided. */
  readonly reason: string
}

export interface Classifiable {
  readonly header: Header
  /** The reverse-path; empty for the null one. */
  readonly mailFrom: string
  /** The address in From. */
  readonly from: string | null
  /** Decoded; without it the field as it is. */
  readonly subject?: string
  /** What its author wrote, without quotes. */
  readonly text?: string
  readonly html?: string
  /** The one-time code in its text. */
  readonly otp?: string | null
  /** The method of its calendar part (RFC 5546 §1.4). */
  readonly calendarMethod?: string | null
}

/** Programs that speak for nobody (RFC 5230 §4.6). */
const programNames = /^(?:mailer-daemon|listserv|majordomo|owner-.+|.+-request)$/i
const daemonNames = /^(?:mailer-?daemon|mail-?daemon|postmaster)$/i
/** Header fields of programs that answer, older than Auto-Submitted. */
const answererFields = [
  'x-autoreply',
  'x-auto-reply',
  'x-autoreply-from',
  'x-auto-reply-from',
  'x-mail-autoreply',
  'x-autorespond',
  'x-autoresponder',
  'x-autoresponse',
  'x-auto-response',
]
const absence = new RegExp(
  `^\\s*(?:(?:re|auto)\\s?[:：]\\s?)?[\\[(【]?(?:${absenceWords})[\\])】]?\\s*(?:[-–—:：(【]|$)`,
  'iu',
)
/** As Notes writes it: `AUTO: Bob Smith is out of the office (returning 12/01/2026)`. */
const notesAbsence =
  / is (?:currently |now )?out of (?:the )?office ?(?:\((?:returning|return|until|back)|(?:returning|until|from|till) \d|\.?$)/i
const codeKind =
  '(?:verification|security|log-?in|sign-?in|access|confirmation|authentication|one-?time|single-use|2fa|otp|activation)'
const codeThing = '(?:pass-?code|code|pin|otp|password)'
/** `482913 is your … code`: what is before it and after it, and how far. */
const isYour = /\bis your\b/i
const codeBefore = { form: /\b[a-z]?-?\d{3,4}[- ]?\d{1,4}\b/i, within: 30 }
const thingBehind = { form: new RegExp(`\\b${codeThing}\\b`, 'i'), within: 70 }
const codes = [
  new RegExp(`^(?:.{0,40}[:\\]|-] ?)?your\\b.{0,40}\\b${codeKind}\\s+(?:${codeThing})\\b`, 'i'),
  new RegExp(`\\b${codeKind}\\s+${codeThing}\\b\\s*(?:(?:is|:|-)\\s*)?\\d{4,8}\\b`, 'i'),
  /^(?:please )?(?:verify|confirm|activate) your (?:e-?mail(?: address)?|account)\b/i,
  /^(?:reset your password|password reset(?: request)?$|your password reset)/i,
]
const receipt = new RegExp(`^(?:\\[[^\\]]{1,40}\\] ?)?(?:${receiptWords})`, 'iu')

/**
 * Returns what kind of message this is, by its header, envelope and words (RFC 3834, RFC 5230 §4.6). In doubt a person
 * wrote it: a code, or a subject like that of a receipt, says nothing without a sign of a program.
 */
export function classify(message: Classifiable): Classified {
  const found = rules.find(([, , , holds]) => holds(message))
  if (!found)
    return {
      category: 'personal',
      autoReplyable: true,
      autoReplyReason: 'person',
      reason: 'nothing-automatic',
    }
  const [reason, category, autoReplyReason] = found
  return { category, autoReplyable: false, autoReplyReason, reason }
}

type Rule = readonly [
  reason: string,
  category: Exclude<Classified['category'], 'personal'>,
  autoReplyReason: Exclude<AuthorKind, 'person'>,
  holds: (message: Classifiable) => boolean,
]

/** The first that holds decides. Absence notices and codes are above bulk mail, because some of them carry its marks. */
const rules: readonly Rule[] = [
  ['delivery-status', 'bounce', 'bounce', ({ header }) => reportType(header) === 'delivery-status'],
  ['failed-recipients', 'bounce', 'bounce', ({ header }) => has(header, 'x-failed-recipients')],
  [
    'mailer-daemon',
    'bounce',
    'bounce',
    ({ mailFrom, from }) => mailFrom === '' && daemonNames.test(localPart(from ?? 'mailer-daemon')),
  ],
  ['report', 'automated', 'automatic', ({ header }) => reportType(header) !== undefined],
  ['calendar-reply', 'automated', 'calendar', ({ calendarMethod }) => calendarMethod === 'REPLY'],
  ['auto-replied', 'automated', 'automatic', ({ header }) => autoSubmitted(header) === 'auto-replied'],
  ['auto-reply-field', 'automated', 'automatic', ({ header }) => isAnswerer(header)],
  ['precedence-auto-reply', 'automated', 'automatic', ({ header }) => precedence(header) === 'auto_reply'],
  ['absence-notice', 'automated', 'automatic', message => isAbsence(subjectOf(message))],
  ['one-time-code', 'automated', 'code', message => isNew(message, bringsCode) && isFromProgram(message)],
  [
    'receipt',
    'automated',
    'receipt',
    message => isNew(message, isReceipt) && !asks(message) && isFromProgram(message),
  ],
  ['list', 'marketing', 'bulk', ({ header }) => isListed(header)],
  ['auto-submitted', 'automated', 'automatic', ({ header }) => isAutoSubmitted(header)],
  ['bulk', 'marketing', 'bulk', ({ header }) => isBulk(header)],
  ['feedback-id', 'automated', 'bulk', message => isFedBack(message)],
  ['auto-response-suppress', 'automated', 'automatic', ({ header }) => suppressesAnswers(header)],
  ['null-reverse-path', 'automated', 'automatic', ({ mailFrom }) => mailFrom === ''],
  ['no-from', 'automated', 'automatic', ({ from }) => from === null],
  ['no-reply-sender', 'automated', 'automatic', ({ from }) => isNoReply(from)],
  [
    'program-sender',
    'automated',
    'automatic',
    ({ mailFrom, from }) => [mailFrom, from ?? ''].some(address => programNames.test(localPart(address))),
  ],
  ['server-sender', 'automated', 'automatic', message => isServer(message)],
  // The subject of many says nothing of it. Last, for bulk mail that brings a code is bulk mail.
  [
    'one-time-code-in-text',
    'automated',
    'code',
    message => message.otp != null && !isPassedOn(subjectOf(message)) && isFromProgram(message),
  ],
]

/** Whether anything but a code, or a subject like that of a receipt, says that a program wrote it. */
function isFromProgram(message: Classifiable): boolean {
  const { header, from, text = '', html = '' } = message
  const isShop = isRole(from) && !has(header, 'in-reply-to')
  return isShop || hasProgramHeader(message) || isTemplate(html) || isProgramText(text)
}

/**
 * Whether header or envelope have a sign that a program wrote it. Some of them prove it alone (see the rules); others,
 * such as the envelope of a service through which people write, too, only with what the message says.
 */
export function hasProgramHeader({ header, mailFrom, from }: Classifiable): boolean {
  return (
    isListed(header) ||
    isAutoSubmitted(header) ||
    isBulk(header) ||
    has(header, 'feedback-id') ||
    suppressesAnswers(header) ||
    mailFrom === '' ||
    isNoReply(from) ||
    isServiceEnvelope(mailFrom)
  )
}

const isListed = (header: Header) => header.fields.some(field => field.lowerName.startsWith('list-'))
const isAutoSubmitted = (header: Header) => !['', 'no'].includes(autoSubmitted(header))
const isBulk = (header: Header) => ['bulk', 'list', 'junk'].includes(precedence(header))

/** Programs that confirm an order ask nothing in its subject or first lines. */
function asks(message: Classifiable): boolean {
  return /[?？]/.test(subjectOf(message)) || /[?？]/.test((message.text ?? '').slice(0, 500))
}

/**
 * Google's Feedback-ID names a campaign, and who sends one is a program. Amazon SES puts its own on each message, those of
 * people and agents included; and services for customer care put one on an answer that a person wrote.
 */
function isFedBack({ header }: Classifiable): boolean {
  const value = lastField(header, 'feedback-id')
  return value !== undefined && !has(header, 'in-reply-to') && !/:\s*amazonses\s*$/i.test(value)
}

/** The envelope of a service that sends for others, or one whose bounces name the recipient or the campaign. */
function isServiceEnvelope(mailFrom: string): boolean {
  if (/^(?:pm_)?(?:bounces?|bnc|msprvs1)(?:[-_.+=]|$)/i.test(mailFrom.slice(0, mailFrom.lastIndexOf('@'))))
    return true
  const labels = mailFrom
    .slice(mailFrom.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.')
    .slice(-6)
  return labels.some((_, at) => senderHosts.has(labels.slice(at).join('.')))
}

/** The words of a local part, without accents: `info_no-reply` has `info`, `no` and `reply`. */
function wordsOf(address: string | null): string[] {
  const name = localPart(address ?? '')
    .slice(0, 100)
    .toLowerCase()
  return (/[^\0-\x7f]/.test(name) ? withoutAccents(name) : name).split(/[-_.+]+/).slice(0, 12)
}

function withoutAccents(name: string): string {
  return name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replaceAll('ß', 'ss')
    .replaceAll('ł', 'l')
    .replaceAll('ı', 'i')
    .replaceAll('ø', 'o')
}

/** Up to five words that follow each other are such a name. */
function isNoReply(from: string | null): boolean {
  const words = wordsOf(from)
  for (let start = 0; start < words.length; start++) {
    let name = ''
    for (const word of words.slice(start, start + 5)) {
      name += word
      if (noReplyNames.has(name)) return true
    }
  }
  return false
}

const isRole = (from: string | null) => wordsOf(from).some(word => roleNames.has(word))

/** Unless it passes on what a person wrote in a form: then that person's address is in Reply-To. */
function isServer({ header, from }: Classifiable): boolean {
  const replyTo = lastField(header, 'reply-to')
  const isOwn = replyTo === undefined || (from !== null && replyTo.toLowerCase().includes(from.toLowerCase()))
  return isOwn && serverNames.has(wordsOf(from).join(''))
}

/** X-Autogenerated also marks what a rule passed on, which a person wrote. */
function isAnswerer(header: Header): boolean {
  return (
    answererFields.some(name => has(header, name)) ||
    fieldValues(header, 'x-autogenerated').some(value => !/^\s*(?:forward|mirror|redirect)/i.test(value))
  )
}

function isAbsence(subject: string): boolean {
  const start = subject.slice(0, 200)
  return absence.test(start) || (notesAbsence.test(start.trimEnd()) && !start.includes('?'))
}

const isReceipt = (subject: string) => receipt.test(subject.trimStart())

function localPart(address: string): string {
  const at = address.lastIndexOf('@')
  return at < 0 ? address : address.slice(0, at)
}

function has(header: Header, lowerName: string): boolean {
  return lastField(header, lowerName) !== undefined
}

/** The report-type of a multipart/report (RFC 6522 §3), empty when it names none; undefined for other mail. */
function reportType(header: Header): string | undefined {
  const contentType = lastField(header, 'content-type') ?? ''
  if (!/^multipart\/report\b/i.test(contentType)) return undefined
  return (/;\s*report-type\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1] ?? '').toLowerCase()
}

/** The keyword of Auto-Submitted, without comments and parameters (RFC 3834 §5.2). */
function autoSubmitted(header: Header): string {
  return keyword(lastField(header, 'auto-submitted'))
}

function precedence(header: Header): string {
  return keyword(lastField(header, 'precedence') ?? lastField(header, 'x-precedence'))
}

function keyword(value = ''): string {
  return (/^\s*([\w-]+)/.exec(value)?.[1] ?? '').toLowerCase()
}

/** Microsoft's field ([MS-OXCMAIL] §2.1.3.2.20): some of its values speak of delivery reports alone. */
function suppressesAnswers(header: Header): boolean {
  return fieldValues(header, 'x-auto-response-suppress').some(value =>
    /\b(?:all|oof|autoreply)\b/i.test(value),
  )
}

function subjectOf({ subject, header }: Classifiable): string {
  return subject ?? lastField(header, 'subject') ?? ''
}

/** A new message with such a subject; a person who answers it, or passes it on, repeats the subject. */
function isNew(message: Classifiable, says: (subject: string) => boolean): boolean {
  const subject = subjectOf(message).slice(0, 200)
  return !isPassedOn(subject) && says(subject)
}

/** A person answers, or passes on what a program wrote. */
function isPassedOn(subject: string): boolean {
  return isReplySubject(subject) || isForwardSubject(subject)
}

function bringsCode(subject: string): boolean {
  const at = subject.search(isYour)
  const before = subject.slice(Math.max(0, at - codeBefore.within), Math.max(0, at))
  const behind = subject.slice(at).slice(0, thingBehind.within)
  const isNamed = at >= 0 && codeBefore.form.test(before) && thingBehind.form.test(behind)
  return isNamed || codes.some(form => form.test(subject))
}
