import { isId } from '../base/ids.ts'
import { Problem } from '../base/problem.ts'
import { findLastEventId } from '../store/events.ts'
import { findInbox } from '../store/inboxes.ts'
import type { App } from './app.ts'
import { type Caller, reachesInbox } from './caller.ts'
import type { EventScope } from './readers.ts'

/** Which events are wanted, within what the caller reaches: undefined is no choice. */
export interface SubscriptionAsked {
  readonly inboxIds?: readonly string[] | undefined
  readonly types?: readonly string[] | undefined
  /** The id of the last event that is known; what came later is told first. Without it: what comes from now on. */
  readonly after?: string | undefined
}

/** Which events a reader takes; null is all that its key reaches. */
export interface Subscription {
  readonly inboxIds: ReadonlySet<string> | null
  readonly types: ReadonlySet<string> | null
  /** The id after which it begins. */
  readonly after: string
}

/**
 * What is asked for, made good: ids in their form, a cursor in any case.
 * @returns with the inboxes that are not there or out of the caller's reach, which is the same to it
 * @throws Problem `invalid_request` for an `after` that is no id
 */
export async function readSubscription(
  app: App,
  caller: Caller,
  asked: SubscriptionAsked,
): Promise<{ subscription: Subscription; unknown: readonly string[] }> {
  const db = app.store.read
  const inboxIds = asked.inboxIds && new Set<string>()
  const unknown: string[] = []
  for (const id of new Set(asked.inboxIds)) {
    const inbox = isId(id) ? await findInbox(db, id.toLowerCase()) : undefined
    if (inbox && reachesInbox(caller, inbox)) inboxIds!.add(inbox.id)
    else unknown.push(id)
  }
  const types = asked.types ? new Set(asked.types) : null
  return { subscription: { inboxIds: inboxIds ?? null, types, after: await cursorOf(app, asked) }, unknown }
}

async function cursorOf(app: App, { after }: SubscriptionAsked): Promise<string> {
  if (after !== undefined && !isId(after)) {
    throw new Problem('invalid_request', 'The id of the last event that is known must be the id of an event.')
  }
  const last = (await findLastEventId(app.store.read)) ?? ''
  const asked = after?.toLowerCase() ?? last
  // Nobody may wait for an id that is far ahead, and miss all before it.
  return asked < last ? asked : last
}

/** Whether a subscription of this caller takes an event. What is of no inbox goes to those that name none. */
export function takesEvent(
  caller: Caller,
  { inboxIds, types }: Omit<Subscription, 'after'>,
  event: EventScope,
): boolean {
  if (caller.inboxId !== null && caller.inboxId !== event.inboxId) return false
  if (caller.podId !== null && caller.podId !== event.podId) return false
  if (types !== null && !types.has(event.type)) return false
  return inboxIds === null || (event.inboxId !== null && inboxIds.has(event.inboxId))
}
