import { isUtf8 } from 'node:buffer'
import { limits } from '../../base/limits.ts'

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

/** Takes the beginning of one part in, as its bytes come. */
export function collectReportPart(contentType: string) {
  const chunks: Buffer[] = []
  let room: number = limits.reportPartBytes
  return {
    add(chunk: Buffer): void {
      if (room <= 0) return
      chunks.push(chunk.subarray(0, room))
      room -= chunk.length
    },
    end(): ReportPart {
      const bytes = Buffer.concat(chunks)
      const content = bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1')
      return { contentType: contentType.toLowerCase(), content }
    },
  }
}

/** The parts of these types, in order. */
export function partsOf(parts: readonly ReportPart[], ...contentTypes: readonly string[]): ReportPart[] {
  return parts.filter(part => contentTypes.includes(part.contentType))
}
