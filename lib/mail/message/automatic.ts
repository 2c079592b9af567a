import { fieldValues, type Header, lastField } from '../header/header.ts'
import { isForwardSubject, isReplySubject } from '../quote/subject.ts'

export interface Classified {
  readonly category: 'personal' | 'automated' | 'marketing' | 'bounce'
  /** A person, or an agent in the place of one, wrote it; all else is never answered by a machine (RFC 3834 §2). */
  readonly autoReplyable: boolean
  /** Names why. */
  readonly reason: string
}

export interface Classifiable {
  readonly header: Header
  /** The reverse-path; empty for the null one. */
  readonly mailFrom: string
  /** The address in From. */
  readonly from: string | null
  /** Decoded; without it the field as it stands. */
  readonly subject?: string
  /** The one-time code that its text brings, as far as that was read. */
  readonly otp?: string | null
}

/** Programs that speak in the place of nobody (RFC 5230 §4.6). */
const programNames = /^(?:mailer-daemon|listserv|majordomo|owner-.+|.+-request)$/i
const daemonNames = /^(?:mailer-?daemon|mail-?daemon|postmaster)$/i
const noReplyNames =
  /^(?:(?:no|do[-_.]?not|dont|never)[-_.]?reply|notifications?|auto[-_.]?(?:confirm|mailer|notify|reply))(?:[-_.+].*)?$/i
/** Header fields of programs that answer, older than Auto-Submitted. */
const answererFields = ['x-autoreply', 'x-autorespond', 'x-autoresponder', 'x-auto-reply-from']
const absence =
  /^(?:automatic reply|auto(?:matic)?[- ]?(?:reply|response)|out of (?:the )?office|abwesenheitsnotiz|automatische antwort|réponse automatique|respuesta automática|risposta automatica|resposta automática|automatisch antwoord|autosvar|автоответ|自动回复|自動回覆|自動返信)\s*(?:[:：]|$)/iu
const codeKind =
  '(?:verification|security|log-?in|sign-?in|access|confirmation|authentication|one-?time|single-use|2fa|otp|activation)'
const codeThing = '(?:pass-?code|code|pin|otp|password)'
/** `482913 is your … code`: what stands before it and behind it, and how far. */
const isYour = /\bis your\b/i
const codeBefore = { form: /\b[a-z]?-?\d{3,4}[- ]?\d{1,4}\b/i, within: 30 }
const thingBehind = { form: new RegExp(`\\b${codeThing}\\b`, 'i'), within: 70 }
const codes = [
  new RegExp(`^(?:.{0,40}[:\\]|-] ?)?your\\b.{0,40}\\b${codeKind}\\s+(?:${codeThing})\\b`, 'i'),
  new RegExp(`\\b${codeKind}\\s+${codeThing}\\b\\s*(?:(?:is|:|-)\\s*)?\\d{4,8}\\b`, 'i'),
  /^(?:please )?(?:verify|confirm|activate) your (?:e-?mail(?: address)?|account)\b/i,
  /^(?:reset your password|password reset(?: request)?$|your password reset)/i,
]
const receipts = [
  /^(?:your )?(?:payment )?receipt (?:from|for your)\b/i,
  /^your (?:[\p{L}\p{N}.'’&-]+ ){0,3}receipt\b/iu,
  /^receipt (?:no\.?|number|#) ?\d/i,
  /^(?:order|payment|booking|shipping) (?:confirmation|confirmed|received)\b/i,
  /^your\b.{0,40}\b(?:order|package|shipment)\b.{0,40}\b(?:shipped|confirmed|dispatched|delivered|on its way)\b/i,
]

/**
 * What kind of mail this is, by what its header and envelope say (RFC 3834, RFC 5230 §4.6). Precise before complete: in
 * doubt a person wrote it.
 */
export function classify(message: Classifiable): Classified {
  const found = rules.find(([, , holds]) => holds(message))
  if (!found) return { category: 'personal', autoReplyable: true, reason: 'nothing-automatic' }
  const [reason, category] = found
  return { category, autoReplyable: false, reason }
}

type Rule = readonly [
  reason: string,
  category: Exclude<Classified['category'], 'personal'>,
  holds: (message: Classifiable) => boolean,
]

/** The first that holds says it. Absence notices and codes stand above bulk mail, whose marks some of them carry. */
const rules: readonly Rule[] = [
  ['delivery-status', 'bounce', ({ header }) => reportType(header) === 'delivery-status'],
  ['failed-recipients', 'bounce', ({ header }) => has(header, 'x-failed-recipients')],
  [
    'mailer-daemon',
    'bounce',
    ({ mailFrom, from }) => mailFrom === '' && daemonNames.test(localPart(from ?? 'mailer-daemon')),
  ],
  ['report', 'automated', ({ header }) => reportType(header) !== undefined],
  ['auto-replied', 'automated', ({ header }) => autoSubmitted(header) === 'auto-replied'],
  ['auto-reply-field', 'automated', ({ header }) => answererFields.some(name => has(header, name))],
  ['precedence-auto-reply', 'automated', ({ header }) => precedence(header) === 'auto_reply'],
  ['absence-notice', 'automated', message => absence.test(subjectOf(message))],
  ['one-time-code', 'automated', message => isNew(message, bringsCode)],
  ['receipt', 'automated', message => isNew(message, subject => receipts.some(form => form.test(subject)))],
  ['list', 'marketing', ({ header }) => header.fields.some(field => field.lowerName.startsWith('list-'))],
  ['auto-submitted', 'automated', ({ header }) => !['', 'no'].includes(autoSubmitted(header))],
  ['bulk', 'marketing', ({ header }) => ['bulk', 'list', 'junk'].includes(precedence(header))],
  ['auto-response-suppress', 'automated', ({ header }) => suppressesAnswers(header)],
  ['null-reverse-path', 'automated', ({ mailFrom }) => mailFrom === ''],
  ['no-from', 'automated', ({ from }) => from === null],
  ['no-reply-sender', 'automated', ({ from }) => noReplyNames.test(localPart(from ?? ''))],
  [
    'program-sender',
    'automated',
    ({ mailFrom, from }) => [mailFrom, from ?? ''].some(address => programNames.test(localPart(address))),
  ],
  // The subject of many says nothing of it. Last, for bulk mail that brings a code is bulk mail.
  ['one-time-code-in-text', 'automated', message => message.otp != null && !isPassedOn(subjectOf(message))],
]

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
  return keyword(lastField(header, 'precedence'))
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
