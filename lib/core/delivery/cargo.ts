import { type Content, openContent, sizeOf } from '../../blob/content.ts'
import type { Cargo } from '../../courier/smtp/courier.ts'
import { wireNeedsOf } from '../../mail/message/wire-needs.ts'
import type { DeliveryRow, MessageRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { forwardContent } from '../forwarding/copy.ts'
import { composeConfirmationMail } from '../forwarding/question.ts'
import { findRawContent } from '../mailbox/raws.ts'

/** What a delivery carries, or why it is not to be carried any more. */
export async function cargoOf(
  app: App,
  delivery: DeliveryRow,
  message: MessageRow,
): Promise<Cargo | { readonly refusal: string }> {
  const content = await findContent(app, message)
  if (!content) return { refusal: 'not sent: the question is not asked any more' }
  if (delivery.purpose === 'forward') return forwardContent(app, delivery, message, content)
  const raw = content.kind === 'memory' ? content.bytes : () => openContent(content)
  return { sizeBytes: sizeOf(content), ...(await wireNeedsOf(openContent(content))), raw }
}

/** The bytes of a message; undefined for a question of ours that is not asked any more. */
export async function findContent(app: App, message: MessageRow): Promise<Content | undefined> {
  if (message.rawId === null) return composeConfirmationMail(app, message)
  const content = await findRawContent(app, message.rawId)
  if (!content) throw new Error(`the raw of message ${message.id} is gone`)
  return content
}
