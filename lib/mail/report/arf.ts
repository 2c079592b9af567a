import { fieldValues, firstField, type Header, readHeader } from '../header/header.ts'
import { partsOf, type ReportPart } from './part.ts'

/** What a feedback report says (RFC 5965). */
export interface FeedbackReport {
  /** In lower case: `abuse`, `fraud`, `not-spam` … */
  readonly type: string
  /** The reverse-paths under which the reported message is said to have come, by the report and by the message. */
  readonly originalMailFroms: readonly string[]
  /** Whom it was for; often left out or made unreadable. */
  readonly originalRcptTos: readonly string[]
}

/** Types by which a recipient says that the message was not wanted (RFC 5965 §7.3, RFC 6650 §5 for opt-out). */
const complaints = ['abuse', 'fraud', 'opt-out', 'opt-out-list']

/** Undefined for what is no feedback report. */
export function readFeedbackReport(parts: readonly ReportPart[]): FeedbackReport | undefined {
  const [report] = partsOf(parts, 'message/feedback-report')
  if (!report) return undefined
  const fields = headerOf(report)
  const type = /^[\w-]+/.exec(firstField(fields, 'feedback-type') ?? '')?.[0].toLowerCase()
  if (type === undefined) return undefined
  const reported = partsOf(
    parts,
    'message/rfc822',
    'text/rfc822-headers',
    'message/global',
    'message/global-headers',
  ).map(headerOf)
  return {
    type,
    originalMailFroms: [
      ...fieldValues(fields, 'original-mail-from'),
      ...reported.flatMap(header => fieldValues(header, 'return-path')),
    ].map(bare),
    originalRcptTos: fieldValues(fields, 'original-rcpt-to').map(bare),
  }
}

/** Whether the report is a complaint, and not one of those that tell of something else (auth-failure, not-spam …). */
export function isComplaint({ type }: FeedbackReport): boolean {
  return complaints.includes(type)
}

function headerOf({ content }: ReportPart): Header {
  // Some begin with an empty line.
  return readHeader(Buffer.from(content.replace(/^\s+/, '')))
}

function bare(path: string): string {
  return path.trim().replace(/^<(.*)>$/s, '$1')
}
