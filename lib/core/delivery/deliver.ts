import { limits } from '../../base/limits.ts'
import { Reply } from '../../base/reply.ts'
import { replyClasses } from '../../base/reply-class.ts'
import type { Outcome } from '../../courier/outcome.ts'
import { domainOf } from '../../mail/address/address.ts'
import { attemptsMade, type Leased, LeaseLost } from '../../queue/lease.ts'
import type { Attempt } from '../../queue/scheduler.ts'
import { type CarriedMessage, findDeliveryToCarry } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Held } from '../../store/dialect/held.ts'
import { everyPod, findSuppression } from '../../store/suppressions.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { Networked } from '../app/app.ts'
import { isDeliveredHere } from '../domains/usable.ts'
import { findConfirmationLink } from '../forwarding/question.ts'
import { prepareReception } from '../inbound/receive.ts'
import { createReceiver } from '../inbound/receiver.ts'
import { resolveRecipient } from '../inbound/recipient.ts'
import { writeReception } from '../inbound/write.ts'
import { saysOfOthers } from '../inbound/write-together.ts'
import { holdAsOperator, holdInstead } from '../outbound/hold.ts'
import { readNoticeRequest } from '../outbound/notice-request.ts'
import { type Carried, cargoOf, findContent, type Missing } from './cargo.ts'
import { tellNoticesSoon } from './notices.ts'
import { oweNotice } from './owed-notices.ts'
import { type Attempted, type Ended, postponedMs, record, withClass } from './record.ts'

/**
 * Carries one delivery once and records how it went, in one write.
 * @param underWay the attempt as the scheduler knows it; a test may do without
 */
export async function deliver(app: Networked, entry: Leased, underWay?: Attempt): Promise<void> {
  const startedAt = app.clock.now()
  const carried = await findDeliveryToCarry(app.store.read, entry.subjectId)
  if (!carried) {
    // The message was deleted while it was queued.
    await app.store.write(db => app.queue.done(db, entry))
    return
  }
  const { delivery, message, inbox } = carried
  const domain = domainOf(delivery.recipient)
  try {
    if (carried.isHeld && (await holdAsOperator(app, entry, delivery.id))) return
    if (inbox?.suspendedAt && (await holdInstead(app, entry, delivery, message))) return
    let ended =
      (carried.isListed && (await endOfSuppressed(app, delivery, inbox?.podId))) ||
      (await attempt(app, entry, delivery, carried, underWay))
    if (ended.outcome.isUntried) {
      await app.store.write(async db => {
        if (entry.destination === domain) await noteFound(app, db, domain)
        // By its domain it is found to be of the group that it turned out to be of, and not of an earlier one.
        const afterMs = ended.outcome.isAddressFull && limits.addressFullMs
        await app.queue.giveBack(db, { ...entry, destination: domain }, afterMs)
      })
      return
    }
    if (ended.outcome.isCutOff) {
      await app.store.write(db => app.queue.cutOff(db, entry))
      app.log.info({ deliveryId: delivery.id, messageId: message.id }, 'delivery attempt cut off by the stop')
      return
    }
    const destination = underWay?.destination ?? entry.destination
    if (ended.outcome.isTooSlow) {
      // Many servers wait for seconds before they greet (Postfix's postscreen, Sendmail's greet_pause): nothing is known, and nothing reported.
      underWay?.showed('nothing')
      await app.store.write(db => app.queue.later(db, { ...entry, destination }, limits.tooSlowAgainMs))
      return
    }
    const hasLed = entry.destination === domain && destination !== domain
    if (ended.outcome.showing === 'fails') underWay?.showed('fails')
    if (postponedMs(ended.outcome) !== undefined) underWay?.showed('nothing')
    const isClean = underWay?.isClean ?? false
    const write = () => {
      const held = heldByEnd({ delivery, message }, ended)
      return app.queue.end(async db => {
        // By a clock that was wrong for a moment, as that of no write is.
        if (ended.isGivenUp && !isExpired(app, entry)) {
          await app.queue.giveBack(db, entry)
          return 'early'
        }
        if (hasLed) await noteFound(app, db, domain)
        const attempted = { delivery, message, inbox, isClean, startedAt }
        await record(app, db, { ...entry, destination }, attempted, ended)
        return delivery.notify !== null && (await oweNotice(app, db, entry, delivery, ended))
      }, held)
    }
    const isToBeTold = await write().catch(error => {
      // The inbox here was deleted since the attempt found it.
      if (!(error instanceof Reply)) throw error
      ended = { outcome: refusalOf(error, ended.outcome) }
      return write()
    })
    if (isToBeTold === 'early') return
    if (ended.outcome.showing && ended.outcome.showing !== 'fails') underWay?.showed(ended.outcome.showing)
    measure(app, delivery, ended)
    tell(app, entry, delivery, message, ended)
    if (isToBeTold) await tellNoticesSoon(app, message.id)
  } catch (error) {
    if (error instanceof LeaseLost)
      app.log.warn({ deliveryId: delivery.id }, 'lease lost; the outcome of this attempt is not recorded')
    throw error
  }
}

/**
 * What the write of an attempt's end holds: of a letter that was taken, as most are. Of what is to be repeated, held, suppressed, told, or
 * noted of a destination that fails it is decided by more than can be held.
 */
function heldByEnd(
  { delivery, message }: Pick<Attempted, 'delivery' | 'message'>,
  { outcome, inboxId, saysOfOthers = false }: Ended,
): Held | undefined {
  const { result, showing, tlsResults = [] } = outcome
  const isNoted = showing === 'fails' || postponedMs(outcome) !== undefined
  const isPlain = result === 'delivered' && delivery.purpose === 'send' && delivery.notify === null
  if (isNoted || !isPlain || saysOfOthers) return undefined
  return {
    inboxes: inboxId === undefined ? [] : [inboxId],
    // Its last delivery settles it, and two of it may end at the same time.
    messages: [message.id],
    names: tlsResults.map(({ policyDomain }) => `tls ${policyDomain}`),
  }
}

/** The domain has led to servers: that it failed for its DNS is over, and what they do counts from now on. */
async function noteFound(app: Networked, db: WriteDb, domain: string): Promise<void> {
  await app.queue.note(db, domain, 'answers', '')
}

function measure(
  { clock, meter }: Networked,
  { createdAt }: DeliveryRow,
  { outcome, captured, inboxId }: Ended,
) {
  const { result, replyClass, durationMs, code, tls } = withClass(outcome)
  const via = captured ? 'capture' : inboxId === undefined ? 'smtp' : 'local'
  meter.count('delivery_attempts_total', result, replyClass ?? 'none', via)
  if (result === 'delivered') {
    meter.observe('delivered_seconds', (clock.now().getTime() - Date.parse(createdAt)) / 1000)
  }
  if (via !== 'smtp') return
  meter.observe('delivery_attempt_seconds', durationMs / 1000, result)
  // Its version, without the cipher.
  if (code !== undefined) meter.count('delivery_tls_total', tls?.split(' ', 1)[0] ?? 'none')
}

function tell(
  app: Networked,
  entry: Leased,
  delivery: DeliveryRow,
  message: CarriedMessage,
  { outcome, captured, link }: Ended,
): void {
  app.log.info(
    {
      deliveryId: delivery.id,
      messageId: message.id,
      recipient: delivery.recipient,
      attempts: attemptsMade(entry),
      cutOffs: entry.cutOffs,
      result: outcome.result,
      code: outcome.code,
      text: outcome.text,
      host: outcome.host,
      tls: outcome.tls,
      durationMs: Math.round(outcome.durationMs),
      link,
    },
    captured ? 'delivery captured' : 'delivery attempted',
  )
}

const isExpired = ({ clock }: Networked, { expiresAt }: Leased) => expiresAt <= clock.now().toISOString()

async function attempt(
  app: Networked,
  entry: Leased,
  delivery: DeliveryRow,
  carried: Carried,
  underWay: Attempt | undefined,
): Promise<Ended> {
  if (isExpired(app, entry)) {
    const said = delivery.replyText ? `; the last answer was: ${delivery.replyText}` : ''
    const text = `given up after ${app.config.delivery.give_up_after}${said}`
    // What kept it from being taken is what it failed for: a mailbox that stayed full, or servers that never answered.
    const replyClass = replyClasses.find(one => one === delivery.replyClass) ?? 'host'
    const outcome = { result: 'permanent', enhanced: '4.4.7', text, replyClass, durationMs: 0 } as const
    return { outcome, isGivenUp: true }
  }
  const domain = domainOf(delivery.recipient)
  const isCopy = delivery.purpose === 'forward'
  if (!isCopy && (await isDeliveredHere(app, app.store.read, delivery.recipient)))
    return deliverHere(app, delivery, carried)
  const cargo = await cargoOf(app, delivery, carried)
  if ('refusal' in cargo) return notCarried(cargo)
  if (app.config.delivery.mode === 'capture') {
    const text = 'captured: this server keeps mail to other domains (delivery.mode = "capture")'
    // Nobody will read the mail: who runs this finds its link in the log.
    const link = carried.message.rawId === null && (await findConfirmationLink(app, carried.message.id))
    const outcome = { result: 'delivered', text, durationMs: 0, showing: 'answers' } as const
    return { captured: true, outcome, ...(link && { link }) }
  }
  const request = readNoticeRequest(delivery.notify)
  const outcome = await app.courier.carry(
    {
      id: delivery.id,
      podId: entry.podId,
      // A reverse-path of its own: a bounce that comes to it tells which delivery it is about.
      mailFrom: delivery.mailFrom ?? carried.message.mailFrom,
      rcptTo: delivery.rcptTo ?? delivery.recipient,
      domain,
      sizeBytes: cargo.sizeBytes,
      is8Bit: cargo.is8Bit,
      isUtf8: cargo.isUtf8,
      isTlsReport: delivery.purpose === 'report',
      ...(request && { notice: request }),
    },
    cargo.raw,
    underWay,
  )
  return { outcome }
}

const notCarried = ({ refusal, isPassing = false }: Missing): Ended => ({
  outcome: { result: isPassing ? 'transient' : 'permanent', text: refusal, durationMs: 0 },
})

/** How a mail ends whose recipient came to the suppression list after its write looked, which refused it else. */
async function endOfSuppressed(
  app: Networked,
  { purpose, recipient }: DeliveryRow,
  podId = everyPod,
): Promise<Ended | undefined> {
  if (purpose === 'report') return undefined
  const now = app.clock.now()
  const found = await findSuppression(app.store.read, [recipient], { podId, now: now.toISOString() })
  if (!found) return undefined
  const text = `given up: the recipient has come to the suppression list (${found.reason}) while this mail waited`
  return { outcome: { result: 'permanent', text, durationMs: 0 } }
}

/**
 * To an inbox of ours: through the same reception as mail from the network, without the network. No bounce can come back
 * later, so the Return-Path is the address of the inbox that sends. A reader, or a program that answers (RFC 5230 §4.5),
 * sees there who wrote.
 */
async function deliverHere(app: Networked, delivery: DeliveryRow, carried: Carried): Promise<Ended> {
  const { message } = carried
  const started = app.clock.monotonicMs()
  const outcome: Outcome = {
    result: 'delivered',
    code: 250,
    enhanced: '2.0.0',
    text: 'delivered to an inbox here',
    host: app.config.hostname,
    durationMs: 0,
    showing: 'answers',
  }
  const ended = (given: Outcome) => ({ ...given, durationMs: app.clock.monotonicMs() - started })
  try {
    const recipient = await resolveRecipient(app, delivery.recipient)
    const content = await findContent(app, carried)
    if ('refusal' in content) return notCarried(content)
    const reception = await prepareReception(createReceiver(app), {
      sessionId: delivery.id,
      mailFrom: message.mailFrom,
      recipients: [recipient],
      content,
      ...(message.rawId === null ? {} : { rawId: message.rawId }),
      peer: { kind: 'local' },
    })
    return {
      outcome: ended(outcome),
      write: db => writeReception(app, db, reception),
      inboxId: recipient.inboxId,
      saysOfOthers: saysOfOthers(reception),
    }
  } catch (error) {
    if (!(error instanceof Reply)) throw error
    return { outcome: ended(refusalOf(error, outcome)) }
  }
}

/** The outcome when our own reception refuses. */
function refusalOf({ code, enhanced, text }: Reply, outcome: Outcome): Outcome {
  return { ...outcome, result: code >= 500 ? 'permanent' : 'transient', code, enhanced, text }
}
