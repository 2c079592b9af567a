import { attachmentsBytes, invalidRequest, Problem, type ProblemCode } from '../base/problem.ts'

/** Bytes of all text fields of a form. */
export const formTextBytes = 2 * 1024 * 1024
/** Characters of an Idempotency-Key. */
const idempotencyKeyLength = 255

/** base64 of the largest attachments, and the text and HTML beside them. */
export const sendBytes = Math.ceil((attachmentsBytes * 4) / 3) + 4 * 1024 * 1024

/** The same as a form. */
export const sendFormBytes = attachmentsBytes + formTextBytes

export const sendHeaders = {
  'Idempotency-Key': {
    description:
      'Any text that names this one send; a repeat within 24 hours gets the same answer and sends nothing.',
    required: true,
  },
} as const

export const sendProblems: readonly ProblemCode[] = [
  'missing_idempotency_key',
  'idempotency_key_conflict',
  'inbox_suspended',
  'forbidden',
  'domain_under_review',
  'unverified_domain',
  'recipient_is_sender',
  'recipient_not_permitted',
  'recipient_suppressed',
  'feature_requires_paid_plan',
  'too_many_recipients',
  'cold_outreach_limit',
  'sending_limit',
  'storage_full',
  'reply_loop',
  'attachments_too_large',
]

/** @throws Problem `missing_idempotency_key`, `invalid_request` */
export function idempotencyKey(given: string | undefined, isRequired: boolean): string | undefined {
  if (given === undefined || given === '') {
    if (isRequired) throw new Problem('missing_idempotency_key')
    return undefined
  }
  if (given.length > idempotencyKeyLength) {
    throw invalidRequest('', `Idempotency-Key has at most ${idempotencyKeyLength} characters`)
  }
  return given
}
