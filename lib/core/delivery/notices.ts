import { limits } from '../../base/limits.ts'
import { Reply } from '../../base/reply.ts'
import { readContent, readStart, sizeOf } from '../../blob/content.ts'
import type { Outcome } from '../../courier/outcome.ts'
import { formatMessageId } from '../../mail/compose/message-id.ts'
import { composeStatusNotice, type NoticeAction } from '../../mail/compose/status-notice.ts'
import { readHeader } from '../../mail/header/header.ts'
import type { Leased } from '../../queue/leased.ts'
import { updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Reception } from '../inbound/arrival.ts'
import { prepareReception } from '../inbound/receive.ts'
import { createReceiver } from '../inbound/receiver.ts'
import { writeReceptions } from '../inbound/write.ts'
import { asksFor, type NoticeRequest, readNoticeRequest } from '../outbound/notice-request.ts'
import { type Carried, findContent } from './cargo.ts'
import type { Ended } from './record.ts'

/** A notification on its way into the inbox of who submitted the message. */
export interface Notice {
  readonly reception: Reception
  /** What is asked for from then on, as the column `notify` has it. */
  readonly notify: string
}

/**
 * What who submitted a message is told of an attempt (RFC 3461 §6, RFC 3464): a mail from mailer-daemon with the null
 * reverse-path, in the inbox that it was submitted from. Nothing to others, to the null path, or where the next host tells it.
 */
export async function prepareNotice(
  app: App,
  entry: Leased,
  delivery: DeliveryRow,
  carried: Carried,
  ended: Ended,
): Promise<Notice | undefined> {
  const request = readNoticeRequest(delivery.notify)
  const action = request && actionOf(app, request, delivery, ended)
  const inbox = action && (await findInbox(app.store.read, carried.message.inboxId))
  if (!request || !action || !inbox) return undefined
  try {
    const what = { request, action, outcome: ended.outcome }
    const content = await composeNotice(app, entry, delivery, carried, inbox.address, what)
    const { id: inboxId, podId, address } = inbox
    const reception = await prepareReception(createReceiver(app), {
      sessionId: delivery.id,
      mailFrom: '',
      recipients: [{ inboxId, podId, address, rcptTo: address }],
      content: { kind: 'memory', bytes: content },
      peer: { kind: 'local' },
    })
    return { reception, notify: JSON.stringify({ ...request, isDelayTold: true } satisfies NoticeRequest) }
  } catch (error) {
    // The rules of the inbox do not let it in; or it is a fault of ours, for which what was delivered is not sent again.
    if (error instanceof Reply)
      app.log.info({ deliveryId: delivery.id, reply: error.message }, 'notice not let in')
    else app.log.error({ err: error, deliveryId: delivery.id }, 'a notice could not be made')
    return undefined
  }
}

/** Puts it into the inbox, in the write that records the attempt; where that is gone meanwhile, nobody is told. */
export async function writeNotice(
  app: App,
  db: WriteDb,
  { id }: DeliveryRow,
  { reception, notify }: Notice,
): Promise<void> {
  await writeReceptions(app, db, [reception])
  await updateDelivery(db, id, { notify })
}

function actionOf(
  app: App,
  request: NoticeRequest,
  delivery: DeliveryRow,
  { outcome, inboxId }: Ended,
): NoticeAction | undefined {
  if (outcome.result === 'permanent') return asksFor(request, 'FAILURE') ? 'failed' : undefined
  if (outcome.result === 'delivered') {
    if (!asksFor(request, 'SUCCESS') || outcome.isNoticePassedOn) return undefined
    return inboxId === undefined ? 'relayed' : 'delivered'
  }
  const waitedMs = app.clock.now().getTime() - Date.parse(delivery.createdAt)
  const isLate = waitedMs >= limits.delayNoticeMs && !request.isDelayTold
  return isLate && asksFor(request, 'DELAY') ? 'delayed' : undefined
}

async function composeNotice(
  app: App,
  entry: Leased,
  delivery: DeliveryRow,
  carried: Carried,
  to: string,
  { request, action, outcome }: { request: NoticeRequest; action: NoticeAction; outcome: Outcome },
): Promise<Buffer> {
  const { message } = carried
  const id = app.ids.next()
  const { hostname } = app.config
  return composeStatusNotice({
    action,
    hostname,
    to,
    date: app.clock.now(),
    messageId: formatMessageId(id, hostname),
    boundary: `=_${id}`,
    recipient: delivery.recipient,
    originalRecipient: request.originalRecipient,
    envelopeId: request.envelopeId,
    status: statusOf(action, outcome),
    code: outcome.code ?? null,
    text: outcome.text,
    remoteHost: outcome.host ?? null,
    willRetryUntil: action === 'delayed' ? entry.expiresAt : null,
    original: {
      messageId: message.rfcMessageId,
      subject: message.subject,
      arrivedAt: message.createdAt,
      returned: await returnedOf(app, carried, action === 'failed' && request.returned === 'FULL'),
    },
  })
}

/** Its class is that of the action (RFC 3464 §2.3.4), but for a time that ran out, which is said as it was. */
function statusOf(action: NoticeAction, { enhanced }: Outcome): string {
  const given = enhanced ?? ''
  if (action === 'failed') return /^[45]\./.test(given) ? given : '5.0.0'
  const name = action === 'delayed' ? '4' : '2'
  return given.startsWith(`${name}.`) ? given : `${name}.0.0`
}

/** All of it where that is asked for and small; else its header (RFC 3461 §4.3). */
async function returnedOf(app: App, carried: Carried, isWholeAsked: boolean) {
  const content = await findContent(app, carried)
  // It is told all the same.
  if ('refusal' in content) return { isWhole: false, bytes: Buffer.alloc(0) }
  if (isWholeAsked && sizeOf(content) <= limits.returnedBytes) {
    return { isWhole: true, bytes: await readContent(content) }
  }
  const start = await readStart(content, limits.headerBytes)
  const { bodyOffset } = readHeader(start)
  return { isWhole: false, bytes: start.subarray(0, Math.min(bodyOffset, limits.headerBytes)) }
}
