import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { fileURLToPath } from 'node:url'
import { failureOf, outcomeSaid } from '../../../lib/core/inbound/failure.ts'
import { suppressedUntil } from '../../../lib/core/outbound/suppressions.ts'
import { normaliseAddress } from '../../../lib/mail/address/address.ts'
import { readHeader } from '../../../lib/mail/header/header.ts'
import { classify } from '../../../lib/mail/message/automatic.ts'
import { readMessage } from '../../../lib/mail/message/read.ts'
import { readDsn } from '../../../lib/mail/report/dsn.ts'
import { isHeldBack } from '../../support/halves.ts'

const folder = (path: string) => fileURLToPath(new URL(path, import.meta.url))
/** All that others have labelled, beside the checkout, and the part that comes with it. */
export const shared = folder('../../../../shared/corpora/bounces/')
export const committed = folder('../../data/bounces/')

/** What becomes of a delivery: none (it has not failed), or it failed, and its recipient is suppressed for good, for a time, or not. */
export type Kind = 'none' | 'hard' | 'full' | 'soft'

/** What another reader (sisimai) says of one recipient of a message. */
interface Label {
  readonly dsn: string
  readonly replycode: string
  readonly reason: string
  readonly hardbounce: boolean
}

export interface Judged {
  readonly name: string
  readonly family: string
  readonly recipient: string
  /** Undefined where it must have failed and the other reader is of another mind about what that means. */
  readonly wanted: Kind | undefined
  readonly got: Kind
  readonly label: string
  readonly isHeldBack: boolean
}

/** Whom the message was for, where neither its fields nor the copy in it say so. */
const recipients: Record<string, readonly string[]> = {
  'lhost-amazonses-10': ['bounce@simulator.amazonses.com'],
  'lhost-domino-01': ['kijitora@example.jp'],
  'lhost-ezweb-04': ['this-local-part-does-not-exist-on-the-server@ezweb.ne.jp'],
  'lhost-ezweb-07': ['this-local-part-does-not-exist@ezweb.ne.jp'],
  'lhost-exim-41': ['kijitora@example.net'],
  'lhost-notes-03': ['kijitora@example.com'],
  'lhost-opensmtpd-01': ['apdugoaidugoaidugoaeiudggadi@gmail.com'],
  'lhost-opensmtpd-03': ['kijitora@neko.example.jp'],
  'lhost-postfix-32': ['"neko....nyaan...."@libsisimai.org'],
  'lhost-qmail-01': ['kijitora@example.ne.jp'],
  'lhost-qmail-17': ['userunknown@libsisimai.net', 'mailboxfull@libsisimai.net'],
  'lhost-qmail-25': ['mailboxfull@libsisimai.net', 'userunknown@libsisimai.net'],
  'lhost-v5sendmail-05': [
    'kijitora@example.edu',
    'kuroneko@example.or.jp',
    'kijitora@example.org',
    'mikeneko@example.co.jp',
  ],
  'lhost-v5sendmail-07': ['kijitora@example.org', 'mikeneko@example.org', 'hachiware@example.edu'],
  'lhost-verizon-02': ['may-be-straycat-nyaaaaaan@vtext.com'],
  'lhost-x2-04': ['kijitora@example.jp'],
  'lhost-yahoo-05': ['kijitora@example.co.jp'],
}

/** Reads the bounces of a folder end to end: what each says of each delivery that it is about. */
export function judgeBounces(corpus: string): Judged[] {
  if (!existsSync(corpus)) return []
  const expected: Record<string, Label[]> = JSON.parse(readFileSync(`${corpus}expected.json`, 'utf8'))
  return globSync(`${corpus}messages/*.eml`)
    .toSorted()
    .flatMap(file => {
      const name = basename(file, '.eml')
      const labels = expected[name] ?? []
      if (labels[0]?.reason === 'feedback') return []
      const raw = readFileSync(file)
      const to = recipients[name] ?? recipientsOf(raw.toString('latin1'), labels.length)
      return labels.map((label, index) => {
        const recipient = to[labels.length === 1 ? 0 : index] ?? to[0] ?? 'nobody@nowhere.example'
        return {
          name,
          family: name.replace(/-\d+$/, ''),
          recipient,
          wanted: wantedOf(label, raw.toString('latin1'), recipient),
          got: whatBecomes(raw, recipient),
          label: [label.dsn, label.replycode, label.reason].join('/'),
          isHeldBack: isHeldBack(name),
        }
      })
    })
}

/** What a message that came to the reverse-path of a delivery makes of it. */
export function whatBecomes(raw: Buffer, recipient: string): Kind {
  const header = readHeader(raw)
  const parsed = readMessage(raw)
  const from = parsed.from?.address ?? null
  const { category } = classify({ header, mailFrom: '', from, subject: parsed.subject })
  const told = readDsn({ ...parsed, header, isBounce: category === 'bounce' }, [recipient])
  const failure = failureOf(recipient, told)
  if (!failure) return 'none'
  if (!failure.isAboutRecipient) return 'soft'
  const until = suppressedUntil(outcomeSaid(failure.said), new Date(0))
  if (until === null) return 'hard'
  return until === undefined ? 'soft' : 'full'
}

/** Reasons of the other reader that are soft to it, and to us what the words say: a mailbox that was closed is not there. */
const ofAnotherMind = ['filtered', 'suspend', 'onhold', 'undefined']

function wantedOf({ reason, hardbounce }: Label, raw: string, recipient: string): Kind | undefined {
  if (reason === 'vacation' || reason === 'delivered' || isWarning(raw, recipient)) return 'none'
  if (hardbounce) return 'hard'
  if (reason === 'mailboxfull') return 'full'
  return ofAnotherMind.includes(reason) ? undefined : 'soft'
}

/** That it takes longer; the other reader does not tell that from the end. */
function isWarning(raw: string, recipient: string): boolean {
  const group = raw.split(/\r?\n\r?\n/).find(one => /^Action:/im.test(one) && one.includes(recipient))
  if (/^Action: *delayed/im.test(group ?? '')) return true
  if (/WARNING MESSAGE ONLY|message \S+ delayed \d+ hours/.test(raw)) return true
  return /^Action: *delayed/im.test(raw) && !/^Action: *failed/im.test(raw)
}

/** As its fields name them, else as the copy of the message does. */
function recipientsOf(raw: string, count: number): string[] {
  const finals = fieldsOf(raw, 'Final-Recipient')
  const originals = fieldsOf(raw, 'Original-Recipient')
  if (finals.length > 0 && finals.length >= count)
    return originals.length === finals.length ? originals : finals
  const failed = /^X-Failed-Recipients: *(.+)$/im.exec(raw)?.[1]?.split(',') ?? []
  const to = [...raw.matchAll(/^To: *((?:.|\r?\n[ \t])+)$/gim)].at(-1)?.[1] ?? ''
  const named = failed.length > 0 ? failed : (to.match(/[^\s<>,;"]+@[^\s<>,;"]+/g) ?? [])
  return named.flatMap(one => normaliseAddress(one.trim()) ?? [])
}

function fieldsOf(raw: string, name: string): string[] {
  const field = new RegExp(`^${name}: *(?:rfc822|utf-8|x400|unknown)? *; *<?([^\\r\\n>]+)`, 'gim')
  return [...raw.matchAll(field)].flatMap(([, value]) => normaliseAddress(value!.trim()) ?? [])
}
