import type { Outcome } from '../../courier/outcome.ts'
import type { ReturnedRecipient } from '../../mail/report/recipient.ts'
import { classOf } from '../../mail/report/reply-rules.ts'

/** What a notification says of the failure of one delivery. */
export interface Failure {
  readonly said: ReturnedRecipient
  /** Whether it names the recipient that we know, and not an address to which their mail was passed on. */
  readonly isAboutRecipient: boolean
}

/**
 * By the group that names our recipient; without one by any, for an address that passes mail on bounces as its target does.
 * Undefined when it tells of no failure.
 */
export function failureOf(recipient: string, told: readonly ReturnedRecipient[]): Failure | undefined {
  const named = told.filter(({ finalRecipient, originalRecipient }) =>
    [finalRecipient, originalRecipient].includes(recipient),
  )
  const said = (named.length > 0 ? named : told).find(({ action }) => action === 'failed')
  if (!said) return undefined
  const isNameless = said.finalRecipient === undefined && said.originalRecipient === undefined
  return { said, isAboutRecipient: named.length > 0 || isNameless }
}

/** The failure as if the other side had said it to us. */
export function outcomeSaid({ code, enhanced, text, host }: ReturnedRecipient): Outcome {
  const replyClass = classOf({ code, enhanced, text })
  return {
    result: 'permanent',
    text: text === '' ? 'the message came back without a reason' : text,
    durationMs: 0,
    ...(code !== undefined && { code }),
    ...(enhanced !== undefined && { enhanced }),
    ...(replyClass !== undefined && { replyClass }),
    ...(host !== undefined && { host }),
  }
}
