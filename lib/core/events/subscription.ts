import { isId } from '../../base/ids.ts'
import { invalidRequest } from '../../base/problem.ts'
import { findLastEventId } from '../../store/events.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { findReachableInbox, getInboxRow } from '../app/reach.ts'
import type { EventScope, EventSink, Subscription } from '../app/stream.ts'
import type { EventsAsked } from './list.ts'

/** Which events are wanted, within what the caller reaches: undefined is no choice. */
export interface SubscriptionAsked {
  /** Ids or addresses. */
  readonly inboxIds?: readonly string[] | undefined
  readonly types?: readonly string[] | undefined
  /** The id of the last event that is known; what came later is told first. Without it: what comes from now on. */
  readonly after?: string | undefined
}

/**
 * What is asked for, made good: ids in their form, and always a cursor.
 * @returns also the inboxes that are not there or out of the caller's reach; the two are not told apart
 * @throws Problem `invalid_request` for an `after` that is no id
 */
export async function readSubscription(
  app: App,
  caller: Caller,
  asked: SubscriptionAsked,
): Promise<{ subscription: Subscription; unknown: readonly string[] }> {
  const { inboxIds, unknown } = await readInboxIds(app, caller, asked.inboxIds ?? [])
  const types = asked.types ? new Set(asked.types) : null
  const after = await cursorOf(app, asked)
  return { subscription: { inboxIds: asked.inboxIds ? inboxIds : null, types, after }, unknown }
}

/** The ids of inboxes that are named by id or address; `unknown` are those that are not there or out of the caller's reach. */
export async function readInboxIds(
  app: App,
  caller: Caller,
  names: readonly string[],
): Promise<{ inboxIds: ReadonlySet<string>; unknown: readonly string[] }> {
  const inboxIds = new Set<string>()
  const unknown: string[] = []
  for (const name of new Set(names)) {
    const inbox = await findReachableInbox(app.store.read, caller, name)
    if (inbox) inboxIds.add(inbox.id)
    else unknown.push(name)
  }
  return { inboxIds, unknown }
}

async function cursorOf(app: App, { after }: SubscriptionAsked): Promise<string> {
  if (after !== undefined && !isId(after)) {
    throw invalidRequest('', 'The id of the last event that is known must be the id of an event')
  }
  const last = (await findLastEventId(app.store.read)) ?? ''
  const asked = after?.toLowerCase() ?? last
  // Nobody may wait for an id that is far ahead, and miss all before it.
  return asked < last ? asked : last
}

/** Whether a subscription of this caller takes an event. An event of no inbox goes to subscriptions that name no inbox. */
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

/**
 * One subscription, ready to begin: gives the function that takes the reader away.
 * @throws Problem `too_many_streams`, `unavailable`
 */
export type EventFeed = (sink: EventSink) => () => void

/**
 * The events that come, within the caller's scope: of one inbox and of one type, where these are named.
 * @throws Problem `not_found` for an inbox that the caller does not reach; `invalid_request`
 */
export async function prepareFeed(
  app: App,
  caller: Caller,
  { inboxId, type, after }: EventsAsked,
): Promise<EventFeed> {
  if (inboxId !== undefined) await getInboxRow(app.store.read, caller, inboxId)
  const { subscription } = await readSubscription(app, caller, {
    inboxIds: inboxId === undefined ? undefined : [inboxId],
    types: type === undefined ? undefined : [type],
    after,
  })
  return sink => {
    const { reader, close } = app.stream.open(caller, sink)
    reader.add(subscription)
    return close
  }
}
