import { Reply } from '../../base/reply.ts'
import { domainOf } from '../../mail/address/address.ts'
import { attemptsMade, type Leased, LeaseLost } from '../../queue/lease.ts'
import type { Attempt } from '../../queue/scheduler.ts'
import { type CarriedDelivery, findDeliveryToCarry } from '../../store/deliveries.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { type Held, holdsNothing } from '../../store/dialect/held.ts'
import type { DeliveryRow } from '../../store/tables.ts'
import type { Networked } from '../app/app.ts'
import { holdAsOperator, holdInstead } from '../outbound/hold.ts'
import { suppressionOf } from '../outbound/suppressions.ts'
import { attempt, type Ended, isExpired, refused } from './attempt.ts'
import { tellNoticesSoon } from './notices.ts'
import { oweNotice } from './owed-notices.ts'
import { notesDestination, postponedMs, record, withClass } from './record.ts'

/** How soon an attempt that found no free connection is made again. */
const addressFullMs = 5_000
/** How soon mail is tried again whose first attempt the server was too slow for (`smtpClientTimeouts`). */
const tooSlowAgainMs = 2_000

/** An attempt that was made. */
interface Made {
  readonly entry: Leased
  readonly carried: CarriedDelivery
  readonly startedAt: Date
  readonly underWay: Attempt | undefined
}

/**
 * Attempts one delivery, and records how that ended in one write.
 * @param underWay the attempt as the scheduler knows it; a test may do without
 */
export async function deliver(app: Networked, entry: Leased, underWay?: Attempt): Promise<void> {
  const startedAt = app.clock.now()
  const carried = await findDeliveryToCarry(app.store.read, entry.subjectId)
  if (!carried) {
    // The message was deleted while it was queued.
    await app.store.writeHolding(holdsNothing, db => app.queue.done(db, entry))
    return
  }
  const { delivery, message, inbox } = carried
  const made = { entry, carried, startedAt, underWay }
  try {
    if (carried.isHeld && (await holdAsOperator(app, entry, delivery))) return
    if (inbox?.suspendedAt && (await holdInstead(app, entry, delivery, message))) return
    const end = await attempt(app, entry, carried, underWay)
    switch (end.kind) {
      case 'no-slot':
        return await giveBack(app, made)
      case 'address-full':
        return await giveBack(app, made, addressFullMs)
      case 'too-slow':
        return await tryAgainSoon(app, made)
      case 'cut-off':
        await app.store.writeHolding(holdsNothing, db => app.queue.cutOff(db, entry))
        app.log.info(
          { deliveryId: delivery.id, messageId: message.id },
          'delivery attempt cut off by the stop',
        )
        return
      case 'expired':
      case 'refused':
      case 'received':
      case 'captured':
      case 'carried':
        return await recordEnd(app, made, end)
      default:
        end satisfies never
    }
  } catch (error) {
    if (error instanceof LeaseLost)
      app.log.warn({ deliveryId: delivery.id }, 'lease lost; the outcome of this attempt is not recorded')
    throw error
  }
}

const domainOfDelivery = ({ carried }: Made) => domainOf(carried.delivery.recipient)

/** The entry with the destination that the attempt turned out to count for. */
function asTried({ entry, underWay }: Made): Leased {
  return { ...entry, destination: underWay?.destination ?? entry.destination }
}

/** No server was asked, so the attempt is neither counted nor recorded. */
async function giveBack(app: Networked, made: Made, afterMs?: number): Promise<void> {
  const { entry } = made
  const domain = domainOfDelivery(made)
  await app.store.writeHolding(destinationHeld(domain), async db => {
    if (entry.destination === domain) await noteFound(app, db, domain)
    // By its domain it is found to be of the group that it turned out to be of, and not of an earlier one.
    await app.queue.giveBack(db, { ...entry, destination: domain }, afterMs)
  })
}

/** Many servers wait for seconds before they greet (Postfix's postscreen, Sendmail's greet_pause). The attempt shows nothing and is not recorded. */
async function tryAgainSoon(app: Networked, made: Made): Promise<void> {
  made.underWay?.showed('nothing')
  await app.store.writeHolding(holdsNothing, db => app.queue.later(db, asTried(made), tooSlowAgainMs))
}

/** Records the outcome. The scheduler learns of a failure before the write, and of a server that answers after it. */
async function recordEnd(app: Networked, made: Made, end: Ended): Promise<void> {
  const { entry, carried, underWay } = made
  const { delivery, message } = carried
  const { showing } = end.outcome
  if (showing === 'fails') underWay?.showed('fails')
  if (postponedMs(end.outcome) !== undefined) underWay?.showed('nothing')
  const isClean = underWay?.isClean ?? false
  let recorded = end
  const isToBeTold = await writeEnd(app, made, isClean, end).catch(error => {
    // The inbox here was deleted since the attempt found it.
    if (!(error instanceof Reply)) throw error
    recorded = refused(error, end.outcome)
    return writeEnd(app, made, isClean, recorded)
  })
  if (isToBeTold === 'early') return
  if (showing && showing !== 'fails') underWay?.showed(showing)
  measure(app, delivery, recorded)
  tell(app, entry, carried, recorded)
  if (isToBeTold) await tellNoticesSoon(app, message.id)
}

/**
 * Writes the end of an attempt: the entry is done or due later, and the rows say what became of the delivery.
 * @param isClean whether nothing bad is known of the destination
 * @returns whether the sender is to be notified now; `early` if its time was not over after all
 */
function writeEnd(app: Networked, made: Made, isClean: boolean, end: Ended): Promise<boolean | 'early'> {
  const { entry, carried, startedAt } = made
  const { delivery, message, inbox } = carried
  const domain = domainOfDelivery(made)
  const tried = asTried(made)
  const hasLed = entry.destination === domain && tried.destination !== domain
  return app.queue.end(
    async db => {
      // By a clock that was wrong for a moment, as that of no write is.
      if (end.kind === 'expired' && !isExpired(app, entry)) {
        await app.queue.giveBack(db, entry)
        return 'early'
      }
      if (hasLed) await noteFound(app, db, domain)
      await record(app, db, tried, { delivery, message, inbox, isClean, startedAt }, end)
      return delivery.notify !== null && (await oweNotice(app, db, entry, delivery, end))
    },
    heldByEnd(carried, end, [
      ...(notesDestination(end.outcome, isClean) ? [tried.destination] : []),
      ...(hasLed ? [domain] : []),
    ]),
  )
}

/**
 * What the write of an attempt's end locks: the inbox here that gets the message, and the one that sent it if that may be suspended,
 * or forwards; the message, whose last delivery settles it; destinations that may be noted; and the recipient, if it may be suppressed.
 */
function heldByEnd(
  { delivery, message }: CarriedDelivery,
  end: Ended,
  destinations: readonly string[],
): Held {
  const { result, tlsResults = [] } = end.outcome
  const isPlain = result === 'delivered' && delivery.purpose === 'send'
  const returned = end.kind === 'received' ? end.returned : undefined
  return {
    inboxes: [...(end.kind === 'received' ? [end.inboxId] : []), ...(isPlain ? [] : [message.inboxId])],
    messages: [message.id, ...(returned?.messages ?? [])],
    names: [
      ...tlsResults.map(({ policyDomain }) => `tls ${policyDomain}`),
      ...destinations.flatMap(name => destinationHeld(name)().names),
      ...(returned?.names ?? []),
      ...(result === 'permanent' ? [suppressionOf(delivery.recipient)] : []),
    ],
  }
}

const destinationHeld = (name: string) => () => ({ names: [`destination ${name}`] })

/** The domain has led to servers: that it failed for its DNS is over, and what they do counts from now on. */
async function noteFound(app: Networked, db: WriteDb, domain: string): Promise<void> {
  await app.queue.note(db, domain, 'answers', '')
}

function measure({ clock, meter }: Networked, { createdAt }: DeliveryRow, { kind, outcome }: Ended) {
  const { result, replyClass, durationMs, code, tls } = withClass(outcome)
  const via = kind === 'captured' ? 'capture' : kind === 'received' ? 'local' : 'smtp'
  meter.count('delivery_attempts_total', result, replyClass ?? 'none', via)
  if (result === 'delivered') {
    meter.observe('delivered_seconds', (clock.now().getTime() - Date.parse(createdAt)) / 1000)
  }
  if (via !== 'smtp') return
  meter.observe('delivery_attempt_seconds', durationMs / 1000, result)
  // Its version, without the cipher.
  if (code !== undefined) meter.count('delivery_tls_total', tls?.split(' ', 1)[0] ?? 'none')
}

function tell(app: Networked, entry: Leased, { delivery, message }: CarriedDelivery, end: Ended): void {
  const { outcome } = end
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
      link: end.kind === 'captured' ? end.link : undefined,
    },
    end.kind === 'captured' ? 'delivery captured' : 'delivery attempted',
  )
}
