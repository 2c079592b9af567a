import { Problem, type ProblemCode, statusOf } from '../../base/problem.ts'
import { Reply } from '../../base/reply.ts'
import { oneLine } from '../../base/text.ts'

/** The replies for what a send is refused for (RFC 5321 §4.2, RFC 3463); without a text, the problem's own says what to do. */
const replies: Partial<Record<ProblemCode, readonly [code: number, enhanced: string, text?: string]>> = {
  unauthorized: [535, '5.7.8'],
  forbidden: [550, '5.7.1'],
  not_found: [550, '5.7.1', 'The inbox is not there any more, or the key does not reach it'],
  invalid_request: [550, '5.6.0'],
  inbox_suspended: [550, '5.7.1'],
  domain_under_review: [550, '5.7.1'],
  unverified_domain: [550, '5.7.1'],
  recipient_is_sender: [550, '5.7.1'],
  recipient_not_permitted: [550, '5.7.1'],
  recipient_suppressed: [550, '5.7.1'],
  feature_requires_paid_plan: [550, '5.7.1'],
  attachments_too_large: [552, '5.3.4'],
  payload_too_large: [552, '5.3.4'],
  // Two programs that answer each other: to try again later would go on with it.
  reply_loop: [554, '5.4.6'],
  cold_outreach_limit: [452, '4.7.1'],
  storage_full: [452, '4.2.2'],
  rate_limit_exceeded: [450, '4.7.1'],
  unavailable: [451, '4.3.0'],
}

/** A line of a reply has 512 bytes (RFC 5321 §4.5.3.1.5). */
const textLength = 450

/** A problem as SMTP says it; all else that was thrown is given back. */
export function refusalOf(error: unknown): unknown {
  if (!(error instanceof Problem)) return error
  const [code, enhanced, text] = replies[error.code] ?? unlisted(error.code)
  const { retryAfterSeconds } = error.more
  const wait = typeof retryAfterSeconds === 'number' ? ` (again in ${retryAfterSeconds} s)` : ''
  const said = oneLine(text ?? error.message).slice(0, textLength - wait.length)
  return new Reply(code, enhanced, `${said}${wait}`, `${error.code}: ${oneLine(error.message)}`)
}

function unlisted(code: ProblemCode): readonly [number, string] {
  const status = statusOf(code)
  if (status >= 500) return [451, '4.3.0']
  return status === 429 ? [450, '4.7.1'] : [550, '5.7.1']
}
