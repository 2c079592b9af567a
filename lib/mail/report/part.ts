import { isUtf8 } from 'node:buffer'

/** Bytes of a part of a report. */
export const reportPartBytes = 64 * 1024
/** Recipients of a report. */
export const reportRecipients = 100

/** A part of a report (RFC 6522) that programs read: what happened, and what comes back of the message. */
export interface ReportPart {
  /** In lower case. */
  readonly contentType: string
  /** Decoded; of a long one the beginning. */
  readonly content: string
}

/** RFC 3464, RFC 6533 §3 and §4, RFC 5965 §2, RFC 6522 §4. */
const types = [
  'message/delivery-status',
  'message/global-delivery-status',
  'message/feedback-report',
  'message/rfc822',
  'message/global',
  'text/rfc822-headers',
  'message/global-headers',
]

export function isReportType(contentType: string): boolean {
  return types.includes(contentType.toLowerCase())
}

/** A part of a report, of which the beginning is kept. */
export function reportPart(contentType: string, bytes: Buffer): ReportPart {
  const start = bytes.subarray(0, reportPartBytes)
  return {
    contentType: contentType.toLowerCase(),
    content: start.toString(isUtf8(start) ? 'utf8' : 'latin1'),
  }
}

/** The parts of these types, in order. */
export function partsOf(parts: readonly ReportPart[], ...contentTypes: readonly string[]): ReportPart[] {
  return parts.filter(part => contentTypes.includes(part.contentType))
}
