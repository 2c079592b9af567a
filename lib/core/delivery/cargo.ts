import { type Content, openContent, sizeOf } from '../../blob/content.ts'
import type { Cargo } from '../../courier/smtp/courier.ts'
import { wireNeedsOf } from '../../mail/message/wire-needs.ts'
import type { CarriedDelivery } from '../../store/deliveries.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { forwardContent } from '../forwarding/copy.ts'
import { composeConfirmationMail } from '../forwarding/question.ts'
import { contentOfRaw } from '../mailbox/raws.ts'

/** A message that is carried. */
export type Carried = Pick<CarriedDelivery, 'message' | 'raw'>

/** What a delivery carries, or why it is not to be carried any more. */
export async function cargoOf(
  app: App,
  delivery: DeliveryRow,
  carried: Carried,
): Promise<Cargo | { readonly refusal: string }> {
  const { message } = carried
  const content = await findContent(app, carried)
  if (!content) return { refusal: 'not sent: the question is not asked any more' }
  if (delivery.purpose === 'forward') return forwardContent(app, delivery, message, content)
  const raw = content.kind === 'memory' ? content.bytes : () => openContent(content)
  return { sizeBytes: sizeOf(content), ...(await wireNeedsOf(openContent(content))), raw }
}

/** The bytes of a message; undefined for a question of ours that is not asked any more. */
export async function findContent(app: App, { message, raw }: Carried): Promise<Content | undefined> {
  if (message.rawId === null) return composeConfirmationMail(app, message)
  const content = raw && (await contentOfRaw(app, raw))
  if (!content) throw new Error(`the raw of message ${message.id} is gone`)
  return content
}
