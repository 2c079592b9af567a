import { fieldValues, type Header, lastField, readHeader } from '../header/header.ts'
import { singleLine } from '../header/text.ts'
import type { FeedbackReport } from './feedback.ts'
import { partsOf, type ReportPart, reportRecipients } from './part.ts'
import { reportTextLength } from './said-reply.ts'
import { readSnsComplaint } from './sns.ts'

/** Types by which a recipient says that the message was not wanted (RFC 5965 §7.3, RFC 6650 §5 for opt-out). */
const complaints = ['abuse', 'fraud', 'opt-out', 'opt-out-list']

/** A reverse-path as ours are (VERP, SRS), where a field of the reported message names it: Authentication-Results, Received-SPF. */
const ownPath = /\b(?:b-[0-9a-z]{24}@bounce\.|srs0=)[0-9a-z.=@_+-]{1,320}/gi

/**
 * Undefined for what is no feedback report.
 * @param text of the message, for providers that write no part for it
 */
export function readFeedbackReport(parts: readonly ReportPart[], text = ''): FeedbackReport | undefined {
  const [report] = partsOf(parts, 'message/feedback-report')
  const fields = report && headerOf(report)
  const type = fields && /^[\w-]+/.exec(lastField(fields, 'feedback-type') ?? '')?.[0].toLowerCase()
  const reported = partsOf(
    parts,
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/global-headers',
  ).map(headerOf)
  if (fields === undefined || type === undefined) return readHotmail(reported) ?? readSnsComplaint(text)
  return {
    type,
    originalMailFroms: [...fieldValues(fields, 'original-mail-from').map(bare), ...reported.flatMap(pathsOf)],
    originalRcptTos: fieldValues(fields, 'original-rcpt-to').map(bare),
    authFailure: authFailureOf(fields),
  }
}

/** Whether the report is a complaint, and not one of those that tell of something else (auth-failure, not-spam …). */
export function isComplaint({ type }: FeedbackReport): boolean {
  return complaints.includes(type)
}

/** Microsoft's form before RFC 5965: the message alone, with a field before it that names who complained. */
function readHotmail(reported: readonly Header[]): FeedbackReport | undefined {
  const complained = reported.flatMap(header => fieldValues(header, 'x-hmxmroriginalrecipient'))
  if (complained.length === 0) return undefined
  return {
    type: 'abuse',
    originalMailFroms: reported.flatMap(pathsOf),
    originalRcptTos: complained.map(bare),
    authFailure: undefined,
  }
}

function authFailureOf(fields: Header): string | undefined {
  const says = ['auth-failure', 'delivery-result', 'source-ip', 'reported-domain'].flatMap(name =>
    fieldValues(fields, name).slice(0, 1),
  )
  if (lastField(fields, 'auth-failure') === undefined) return undefined
  return singleLine(says.join(' ')).slice(0, reportTextLength)
}

function pathsOf(header: Header): string[] {
  const named = header.fields.flatMap(({ value }) => value.match(ownPath) ?? []).slice(0, reportRecipients)
  return [...fieldValues(header, 'return-path').map(bare), ...named]
}

function headerOf({ content }: ReportPart): Header {
  // Some begin with an empty line.
  return readHeader(Buffer.from(content.replace(/^\s+/, '')))
}

function bare(path: string): string {
  return path.trim().replace(/^<(.*)>$/s, '$1')
}
