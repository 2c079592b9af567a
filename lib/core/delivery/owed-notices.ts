import { isoAfter } from '../../base/time.ts'
import type { Leased } from '../../queue/lease.ts'
import { updateDelivery } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { listNoticeStates } from '../../store/owed-notices.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { asksFor, type NoticeRequest, type Owed, readNoticeRequest } from '../outbound/notice-request.ts'
import type { Ended } from './attempt.ts'

/** How long mail that was submitted waits until its sender is told; what comes back whole in a notice; ENVID and ORCPT (RFC 3461 §4.2, §4.4). */
export const delayNoticeMs = 4 * 3_600_000
/** How long a notice waits for what becomes of the other recipients of its message. */
export const noticeGatherMs = 60_000
/** The shortest time between two notices of one message. */
export const noticeGapMs = 600_000

/**
 * Notes what who submitted a message is to be told of an attempt, in the write that records it. What becomes of the recipients
 * of one message is told together: when each of them was tried, after `noticeGatherMs` at the latest, and again after
 * `noticeGapMs` at the earliest, so that many recipients are few notices.
 * @returns whether something of the message is to be told now
 */
export async function oweNotice(
  app: Pick<App, 'clock'>,
  db: WriteDb,
  entry: Pick<Leased, 'expiresAt'>,
  { id, messageId, createdAt }: DeliveryRow,
  ended: Ended,
): Promise<boolean> {
  const now = app.clock.now()
  const states = await listNoticeStates(db, messageId)
  const mine = states.find(state => state.id === id)
  const request = readNoticeRequest(mine?.notify ?? null)
  if (!mine || !request) return false
  const owed = owedOf(now.getTime() - Date.parse(createdAt), request, ended, entry.expiresAt)
  const others = states.filter(state => state.id !== id)
  const waiting = others.flatMap(({ noticeAt }) => noticeAt ?? [])
  const isOver = ended.outcome.result !== 'transient'
  // What was to be told of a delay is told no more when that is over.
  const isOwing = owed !== undefined || (mine.noticeAt !== null && !isOver)
  if (!isOwing && mine.noticeAt !== null) await updateDelivery(db, id, { noticeAt: null })
  if (!isOwing && waiting.length === 0) return false
  const isSomeUntried = others.some(({ state }) => state === 'queued')
  const tellAt = isSomeUntried ? isoAfter(now, noticeGatherMs) : now.toISOString()
  const told = states.flatMap(({ notify }) => readNoticeRequest(notify)?.toldAt ?? [])
  const mayAt =
    told
      .map(at => isoAfter(new Date(at), noticeGapMs))
      .sort()
      .at(-1) ?? ''
  const noticeAt = [tellAt, ...(isSomeUntried ? waiting : [])].sort()[0]!
  const at = noticeAt > mayAt ? noticeAt : mayAt
  if (owed) {
    const next: NoticeRequest = { ...request, isDelayTold: true, owed }
    await updateDelivery(db, id, { notify: JSON.stringify(next), noticeAt: at })
  }
  return at <= now.toISOString()
}

function owedOf(
  waitedMs: number,
  request: NoticeRequest,
  { kind, outcome }: Ended,
  until: string,
): Owed | undefined {
  if (outcome.result === 'permanent')
    return asksFor(request, 'FAILURE') ? { action: 'failed', until: null } : undefined
  if (outcome.result === 'delivered') {
    if (!asksFor(request, 'SUCCESS') || outcome.isNoticePassedOn) return undefined
    return { action: kind === 'received' ? 'delivered' : 'relayed', until: null }
  }
  const isLate = waitedMs >= delayNoticeMs && !request.isDelayTold
  return isLate && asksFor(request, 'DELAY') ? { action: 'delayed', until } : undefined
}
