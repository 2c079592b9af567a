import { Reply, replyClasses } from '../../base/reply.ts'

import { isOutcome, type Outcome, type Unfinished } from '../../courier/outcome.ts'
import { domainOf } from '../../mail/address/address.ts'
import type { Leased } from '../../queue/lease.ts'
import type { Attempt } from '../../queue/scheduler.ts'
import type { CarriedDelivery, CarriedMessage } from '../../store/deliveries.ts'
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
import { heldByReturned } from '../inbound/write-together.ts'
import { readNoticeRequest } from '../outbound/notice-request.ts'
import { cargoOf, findContent, type Missing } from './cargo.ts'

/** What can come of an attempt. `deliver` does what each asks for. */
export type End = Ended | { readonly kind: Unfinished }

/** An attempt that has an outcome, which is recorded. */
export type Ended =
  /** A server in the network accepted or refused the message, or none could be asked. */
  | { readonly kind: 'carried'; readonly outcome: Outcome }
  /** An inbox here receives it, with these rows. */
  | Received
  /** It is kept here instead of being sent (`delivery.mode`). */
  | Captured
  /** It was refused on this server: by the suppression list, for want of its bytes, or by our own reception. */
  | { readonly kind: 'refused'; readonly outcome: Outcome }
  /** Its time was over before anything was tried, by the clock of that moment. */
  | { readonly kind: 'expired'; readonly outcome: Outcome }

interface Received {
  readonly kind: 'received'
  readonly outcome: Outcome
  readonly inboxId: string
  /** Writes the rows of the message as the inbox gets it. @throws Reply if the inbox is gone */
  readonly write: (db: WriteDb) => Promise<unknown>
  /** What these rows hold because they report the end of other deliveries. */
  readonly returned: Pick<Held, 'messages' | 'names'>
}

interface Captured {
  readonly kind: 'captured'
  readonly outcome: Outcome
  /** Where the message asks its reader to go. */
  readonly link: string | undefined
}

/** Tries to deliver, once. Nothing of it is recorded yet. */
export async function attempt(
  app: Networked,
  entry: Leased,
  carried: CarriedDelivery,
  underWay: Attempt | undefined,
): Promise<End> {
  const { delivery, message, inbox } = carried
  const suppressed = carried.isListed && (await findSuppressed(app, delivery, inbox?.podId))
  if (suppressed) return suppressed
  if (isExpired(app, entry)) return expired(app, delivery)
  const isCopy = delivery.purpose === 'forward'
  if (!isCopy && (await isDeliveredHere(app, app.store.read, delivery.recipient)))
    return receive(app, carried)
  const cargo = await cargoOf(app, delivery, carried)
  if ('refusal' in cargo) return notCarried(cargo)
  if (app.config.delivery.mode === 'capture') return capture(app, message)
  const request = readNoticeRequest(delivery.notify)
  const result = await app.courier.carry(
    {
      id: delivery.id,
      podId: entry.podId,
      // A reverse-path of its own: a bounce that comes to it tells which delivery it is about.
      mailFrom: delivery.mailFrom ?? message.mailFrom,
      rcptTo: delivery.rcptTo ?? delivery.recipient,
      domain: domainOf(delivery.recipient),
      sizeBytes: cargo.sizeBytes,
      is8Bit: cargo.is8Bit,
      isUtf8: cargo.isUtf8,
      isTlsReport: delivery.purpose === 'report',
      ...(request && { notice: request }),
    },
    cargo.raw,
    underWay,
  )
  return isOutcome(result) ? { kind: 'carried', outcome: result } : { kind: result.result }
}

/** Whether an entry's time is over, by the clock of this moment. */
export const isExpired = ({ clock }: Pick<Networked, 'clock'>, { expiresAt }: Leased) =>
  expiresAt <= clock.now().toISOString()

function expired({ config }: Networked, { replyText, replyClass }: DeliveryRow): Ended {
  const said = replyText ? `; the last answer was: ${replyText}` : ''
  return {
    kind: 'expired',
    outcome: {
      result: 'permanent',
      enhanced: '4.4.7',
      text: `given up after ${config.delivery.give_up_after}${said}`,
      // What kept it from being taken is what it failed for: a mailbox that stayed full, or servers that never answered.
      replyClass: replyClasses.find(one => one === replyClass) ?? 'host',
      durationMs: 0,
    },
  }
}

/** How a message ends whose recipient came to the suppression list after its write looked, which refused it else. */
async function findSuppressed(
  app: Networked,
  { purpose, recipient }: DeliveryRow,
  podId = everyPod,
): Promise<Ended | undefined> {
  if (purpose === 'report') return undefined
  const now = app.clock.now()
  const found = await findSuppression(app.store.read, [recipient], { podId, now: now.toISOString() })
  if (!found) return undefined
  const text = `given up: the recipient has come to the suppression list (${found.reason}) while this mail waited`
  return { kind: 'refused', outcome: { result: 'permanent', text, durationMs: 0 } }
}

const notCarried = ({ refusal, isPassing = false }: Missing): Ended => ({
  kind: 'refused',
  outcome: { result: isPassing ? 'transient' : 'permanent', text: refusal, durationMs: 0 },
})

async function capture(app: Networked, message: CarriedMessage): Promise<Captured> {
  const text = 'captured: this server keeps mail to other domains (delivery.mode = "capture")'
  return {
    kind: 'captured',
    outcome: { result: 'delivered', text, durationMs: 0, showing: 'answers' },
    // Nobody will read the mail: who runs this finds its link in the log.
    link: message.rawId === null ? await findConfirmationLink(app, message.id) : undefined,
  }
}

/**
 * To an inbox of ours: through the same reception as mail from the network, without the network. No bounce can come back
 * later, so the Return-Path is the address of the inbox that sends. A reader, or a program that answers (RFC 5230 §4.5),
 * sees there who wrote.
 */
async function receive(app: Networked, carried: CarriedDelivery): Promise<Ended> {
  const { delivery, message } = carried
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
      kind: 'received',
      outcome: ended(outcome),
      write: db => writeReception(app, db, reception),
      inboxId: recipient.inboxId,
      returned: heldByReturned(reception),
    }
  } catch (error) {
    if (!(error instanceof Reply)) throw error
    return refused(error, ended(outcome))
  }
}

/** The end when our own reception refuses. */
export function refused({ code, enhanced, text }: Reply, outcome: Outcome): Ended {
  const result = code >= 500 ? 'permanent' : 'transient'
  return { kind: 'refused', outcome: { ...outcome, result, code, enhanced, text } }
}
