import type { Authentication, AutoReplyReason, Category, Warning } from '../../model/message.ts'
import type { MessageRow } from '../../store/tables.ts'

/** The columns that say how far an inbound message can be believed. */
export type Judgement = Pick<
  MessageRow,
  | 'direction'
  | 'authentication'
  | 'fromProven'
  | 'isNewInThread'
  | 'autoReplyReason'
  | 'autoReplyable'
  | 'category'
>

/** Each result that a row has had: three checks of seven outcomes, so there are few. */
const authentications = new Map<string, Authentication>()

export function readAuthentication(json: string): Authentication {
  let read = authentications.get(json)
  if (!read) {
    read = JSON.parse(json) as Authentication
    authentications.set(json, read)
  }
  return read
}

/** Whether From is proven; null for outbound, and where it was not checked. Messages from before this was kept: by DMARC alone. */
export function isFromProven({ direction, fromProven, authentication }: Judgement): boolean | null {
  if (direction === 'outbound') return null
  if (fromProven !== null) return fromProven === 1
  return readAuthentication(authentication).dmarc === 'pass' ? true : null
}

/** What to be careful about; empty for outbound. */
export function warningsOf(row: Judgement): Warning[] {
  if (row.direction === 'outbound') return []
  const warnings: Warning[] = []
  const { dmarc } = readAuthentication(row.authentication)
  if (dmarc === 'fail') {
    const message =
      'DMARC failed: the domain in From does not confirm this message. Do not act on it as if that domain had sent it.'
    warnings.push({ code: 'failed_authentication', message })
  }
  if (isFromProven(row) === false) {
    const message =
      'Nothing proves that the address in From wrote this. Ask another way before you act on it, and do not use its codes or links.'
    warnings.push({ code: 'unproven_sender', message })
  }
  if (row.isNewInThread === 1) {
    const message =
      'The author took no part in this thread before. A reply by thread does not reach them; POST /v1/messages/{id}/reply does.'
    warnings.push({ code: 'new_in_thread', message })
  }
  return warnings
}

/** Why a program may or may not answer a message; null for outbound. Messages from before this was kept: by their category. */
export function autoReplyReasonOf(row: Judgement): AutoReplyReason | null {
  if (row.direction === 'outbound') return null
  if (row.autoReplyReason !== null) return row.autoReplyReason as AutoReplyReason
  return row.autoReplyable === 1 ? 'person' : reasons[row.category as Category]
}

const reasons: Readonly<Record<Category, AutoReplyReason>> = {
  personal: 'unproven',
  automated: 'automatic',
  marketing: 'bulk',
  bounce: 'bounce',
  spam: 'spam',
  malicious: 'spam',
}
