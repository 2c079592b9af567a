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
  if ('refusal' in content) return content
  if (delivery.purpose === 'forward') return forwardContent(app, delivery, message, content)
  const raw = content.kind === 'memory' ? content.bytes : () => openContent(content)
  const chunks = content.kind === 'memory' ? [content.bytes] : openContent(content)
  return { sizeBytes: sizeOf(content), ...(await wireNeedsOf(chunks)), raw }
}

/** The bytes of a message, or why there are none any more: no later attempt would find them. */
export async function findContent(
  app: App,
  { message, raw }: Carried,
): Promise<Content | { readonly refusal: string }> {
  if (message.rawId === null) {
    const question = await composeConfirmationMail(app, message)
    return question ?? { refusal: 'not sent: the question is not asked any more' }
  }
  const content = raw && (await contentOfRaw(app, raw))
  if (content) return content
  app.log.error(
    { messageId: message.id, rawId: message.rawId },
    'the bytes of a message are gone: it can not be delivered',
  )
  return { refusal: 'not sent: the bytes of this message are gone from this server' }
}
