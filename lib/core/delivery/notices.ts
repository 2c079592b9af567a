import { Reply } from '../../base/reply.ts'
import { isoAfter } from '../../base/time.ts'
import { readContent, readStart, sizeOf } from '../../blob/content.ts'
import { formatMessageId } from '../../mail/compose/message-id.ts'
import {
  composeStatusNotice,
  type NoticeAction,
  type ToldRecipient,
} from '../../mail/compose/status-notice.ts'
import { headerBytes, readHeader } from '../../mail/header/header.ts'
import { findDeliveryToCarry } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { findInbox } from '../../store/inboxes.ts'
import { listMessagesToTellOf, listOwedNotices, settleOwedNotice } from '../../store/owed-notices.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { prepareReception } from '../inbound/receive.ts'
import { createReceiver } from '../inbound/receiver.ts'
import { writeReception } from '../inbound/write.ts'
import { type NoticeRequest, type Owed, readNoticeRequest } from '../outbound/notice-request.ts'
import { type Carried, findContent } from './cargo.ts'

/** How long a notice waits after a fault or a refusal. */
export const noticePutOffMs = 3_600_000
/** After so long a notice is given up. */
export const noticeGivenUpMs = 5 * 86_400_000
/** Bytes of the returned message in a notice. */
const returnedBytes = 1024 * 1024

/** A delivery of which something is to be told. */
interface Owing {
  readonly row: DeliveryRow
  readonly request: NoticeRequest
  readonly owed: Owed
}

/** Somebody else has told of it, or it has gone on, since it was looked at. */
class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** Tells of the messages of which something is to be told by now; gives of how many. */
export async function tellDueNotices(app: App): Promise<number> {
  const due = await listMessagesToTellOf(app.store.read, app.clock.now().toISOString(), sweepRows)
  for (const messageId of due) await tellNotices(app, messageId)
  return due.length
}

/** The same for who has recorded what is told: what fails of that is tried again by the sweep, and no fault of the attempt. */
export async function tellNoticesSoon(app: App, messageId: string): Promise<void> {
  try {
    await tellNotices(app, messageId)
  } catch (error) {
    app.log.error({ err: error, messageId }, 'a notice could not be made')
  }
}

/**
 * Tells who submitted a message what became of it (RFC 3461 §6, RFC 3464): one mail from mailer-daemon with the null
 * reverse-path, in the inbox that it was submitted from, with a group of fields for each recipient of which something is to be told.
 */
async function tellNotices(app: App, messageId: string): Promise<void> {
  const owing = (await listOwedNotices(app.store.read, messageId)).flatMap(row => {
    const request = readNoticeRequest(row.notify)
    return request?.owed ? [{ row, request, owed: request.owed }] : []
  })
  const [first] = owing
  const carried = first && (await findDeliveryToCarry(app.store.read, first.row.id))
  if (!carried) return
  const inbox = await findInbox(app.store.read, carried.message.inboxId)
  const now = app.clock.now()
  try {
    const reception =
      inbox &&
      (await prepareReception(createReceiver(app), {
        sessionId: messageId,
        mailFrom: '',
        recipients: [
          { inboxId: inbox.id, podId: inbox.podId, address: inbox.address, rcptTo: inbox.address },
        ],
        content: { kind: 'memory', bytes: await composeNotice(app, carried, inbox.address, owing) },
        peer: { kind: 'local' },
      }))
    const held = { inboxes: inbox ? [inbox.id] : [], messages: [messageId] }
    await app.store.writeHolding(
      () => held,
      async db => {
        await settle(db, owing, now.toISOString())
        if (reception) await writeReception(app, db, reception)
      },
    )
  } catch (error) {
    if (error instanceof Overtaken) return
    await putOff(app, messageId, owing, error)
  }
}

/**
 * It is told later, when the inbox takes it: a bound against loops passes. What its rules refuse is not told, nor what could
 * not be told for days; that it could not is said at the first time and at the last.
 */
async function putOff(app: App, messageId: string, owing: readonly Owing[], error: unknown): Promise<void> {
  const isRefused = error instanceof Reply && error.code >= 500 && error.enhanced !== '5.4.6'
  const now = app.clock.now()
  const [since] = owing.flatMap(({ owed }) => owed.putOffSince ?? []).sort()
  const isOver = since !== undefined && now.getTime() - Date.parse(since) >= noticeGivenUpMs
  if (isOver) app.log.error({ err: error, messageId, since }, 'a notice is given up: it could not be told')
  else if (error instanceof Reply) app.log.info({ messageId, reply: error.message }, 'notice not let in')
  else if (since === undefined) app.log.error({ err: error, messageId }, 'a notice could not be made')
  const isLast = isRefused || isOver
  await app.store
    .writeHolding(holdsNothing, db =>
      isLast ? settle(db, owing, null) : tryAgain(db, owing, since ?? now.toISOString(), now),
    )
    .catch(fault => {
      if (!(fault instanceof Overtaken)) throw fault
    })
}

/** @throws Overtaken when one of them is not as it was read */
async function tryAgain(db: WriteDb, owing: readonly Owing[], putOffSince: string, now: Date): Promise<void> {
  const noticeAt = isoAfter(now, noticePutOffMs)
  for (const { row, request, owed } of owing) {
    const notify = JSON.stringify({ ...request, owed: { ...owed, putOffSince } })
    if (!(await settleOwedNotice(db, row, { notify, noticeAt }))) throw new Overtaken()
  }
}

/** Nothing is owed any more. @throws Overtaken when one of them is not as it was read */
async function settle(db: WriteDb, owing: readonly Owing[], toldAt: string | null): Promise<void> {
  for (const { row, request } of owing) {
    const { owed: _owed, ...told } = { ...request, ...(toldAt !== null && { toldAt }) }
    const settled = { notify: JSON.stringify(told), noticeAt: null }
    if (!(await settleOwedNotice(db, row, settled))) throw new Overtaken()
  }
}

async function composeNotice(
  app: App,
  carried: Carried,
  to: string,
  owing: readonly Owing[],
): Promise<Buffer> {
  const { message } = carried
  const id = app.ids.next()
  const { hostname } = app.config
  const { envelopeId, returned } = owing[0]!.request
  const isFailed = owing.some(({ owed }) => owed.action === 'failed')
  return composeStatusNotice({
    hostname,
    to,
    date: app.clock.now(),
    messageId: formatMessageId(id, hostname),
    boundary: `=_${id}`,
    envelopeId,
    recipients: owing.map(told),
    original: {
      messageId: message.rfcMessageId,
      subject: message.subject,
      arrivedAt: message.createdAt,
      returned: await returnedOf(app, carried, isFailed && returned === 'FULL'),
    },
  })
}

function told({ row, request, owed }: Owing): ToldRecipient {
  return {
    action: owed.action,
    recipient: row.recipient,
    originalRecipient: request.originalRecipient,
    status: statusOf(owed.action, row.replyEnhanced),
    code: row.replyCode,
    text: row.replyText ?? '',
    remoteHost: row.remoteHost,
    triedAt: row.updatedAt,
    willRetryUntil: owed.until,
  }
}

/** Its class is that of the action (RFC 3464 §2.3.4), but for a time that ran out, which is said as it was. */
function statusOf(action: NoticeAction, enhanced: string | null): string {
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
  if (isWholeAsked && sizeOf(content) <= returnedBytes) {
    return { isWhole: true, bytes: await readContent(content) }
  }
  const start = await readStart(content, headerBytes)
  const { bodyOffset } = readHeader(start)
  return { isWhole: false, bytes: start.subarray(0, Math.min(bodyOffset, headerBytes)) }
}
