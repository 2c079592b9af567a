import type { ReplyClass } from '../../base/reply.ts'
import { resolverSilent } from '../../courier/outcome.ts'
import type { DeliveryRow, DestinationRow, QueueEntryRow } from '../../store/tables.ts'

/** What stands about a delivery, in rows. */
export interface Standing {
  readonly delivery: DeliveryRow
  readonly entry: QueueEntryRow | undefined
  readonly destination: DestinationRow | undefined
  /** Now, as an instant of a row. */
  readonly now: string
}

/** What happens to a delivery, and when next, in one sentence for a person. */
export function outlookOf(standing: Standing): string {
  const { delivery, entry } = standing
  const said = delivery.replyText ? `: ${delivery.replyText.replace(/\.$/, '')}` : ''
  if (delivery.captured === 1) return 'Kept on this machine; delivery.mode = "capture" lets nothing out.'
  if (delivery.state === 'delivered')
    return `Taken by ${delivery.remoteHost ?? 'its server'} at ${delivery.updatedAt}.`
  if (delivery.state === 'failed') return `Failed for good at ${delivery.updatedAt}${said}${about(delivery)}.`
  if (delivery.state === 'cancelled') return `Cancelled by the operator at ${delivery.updatedAt}${said}.`
  if (delivery.state === 'held' && delivery.heldBy !== null)
    return 'Held by the operator, until it is released.'
  if (delivery.state === 'held') return 'Held because its inbox is suspended; it goes on when that ends.'
  if (!entry) return 'It is not sent any more.'
  return `${waitsFor(standing, entry)}${cutOff(entry)}${lastSaid(delivery)}; given up at ${entry.expiresAt}.`
}

function waitsFor({ delivery, destination, now }: Standing, entry: QueueEntryRow): string {
  if (entry.leasedBy !== null) return `Attempt ${delivery.attempts + 1} is under way`
  if (destination && entry.dueAt === destination.retryAt) {
    // What was said at the last failure may speak of another inbox's mail, and is for the operator.
    const { failures, failingSince, lastFailure } = destination
    if (lastFailure === resolverSilent)
      return `Waits untried, because ${resolverSilent}; next try at ${entry.dueAt}`
    if (failures === 0)
      return `Waits for ${entry.destination}, which could not be tried; next try at ${entry.dueAt}`
    const failed =
      failures === 1
        ? `failed at ${failingSince}`
        : `has failed ${failures} times in a row since ${failingSince}`
    return `Waits for ${entry.destination}, which ${failed}; next try at ${entry.dueAt}`
  }
  if (entry.dueAt >= entry.expiresAt) return 'No further attempt is due before its time is over'
  if (entry.dueAt <= now) return 'Is due now and waits for its turn'
  return `Attempt ${delivery.attempts + 1} is due at ${entry.dueAt}`
}

function cutOff({ cutOffs }: QueueEntryRow): string {
  if (cutOffs === 0) return ''
  return `, after ${cutOffs} that a crash or a stop cut off`
}

function lastSaid(delivery: DeliveryRow): string {
  const { attempts, replyText, remoteHost } = delivery
  if (attempts === 0 || replyText === null) return ''
  return `; the last one ended with "${replyText}"${remoteHost === null ? '' : ` of ${remoteHost}`}${about(delivery)}`
}

const meanings: Record<ReplyClass, string> = {
  recipient: 'the address takes no mail',
  full: 'the mailbox has no room',
  sender: 'it is about our address or its proof',
  policy: 'a rule of theirs',
  reputation: 'it is about the address that we send from',
  content: 'it is about the message',
  protocol: 'the servers misunderstood each other',
  host: 'a fault of their server or of the way to it',
  greylist: 'they ask for a later attempt',
  rate: 'they take less at once',
}

function about({ replyClass }: DeliveryRow): string {
  const meaning = meanings[replyClass as ReplyClass]
  return meaning === undefined ? '' : ` (${meaning})`
}
