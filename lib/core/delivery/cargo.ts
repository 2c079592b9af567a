import { BytesElsewhere } from '../../base/faults.ts'
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

/** Why there are no bytes to carry. */
export interface Missing {
  readonly refusal: string
  /** A later attempt, or one of another node, may find them. */
  readonly isPassing?: boolean
}

/** What a delivery carries, or why it is not to be carried. */
export async function cargoOf(app: App, delivery: DeliveryRow, carried: Carried): Promise<Cargo | Missing> {
  const { message } = carried
  const content = await findContent(app, carried)
  if ('refusal' in content) return content
  if (delivery.purpose === 'forward') return forwardContent(app, delivery, message, content)
  const raw = content.kind === 'memory' ? content.bytes : () => openContent(content)
  const chunks = content.kind === 'memory' ? [content.bytes] : openContent(content)
  return { sizeBytes: sizeOf(content), ...(await wireNeedsOf(chunks)), raw }
}

/** The bytes of a message, or why there are none. */
export async function findContent(app: App, { message, raw }: Carried): Promise<Content | Missing> {
  if (message.rawId === null) {
    const question = await composeConfirmationMail(app, message)
    return question ?? { refusal: 'not sent: the question is not asked any more' }
  }
  const names = { messageId: message.id, rawId: message.rawId }
  try {
    const content = raw && (await contentOfRaw(app, raw))
    if (content) return content
  } catch (error) {
    if (!(error instanceof BytesElsewhere)) throw error
    app.log.error(names, 'the bytes of a message are not here, and may be at another node: it waits')
    return {
      refusal: 'not sent yet: the bytes of this message are not here, and may be at another node',
      isPassing: true,
    }
  }
  app.log.error(names, 'the bytes of a message are gone: it can not be delivered')
  return { refusal: 'not sent: the bytes of this message are gone from this server' }
}
