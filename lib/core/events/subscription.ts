import { firstIdAt, isId } from '../../base/ids.ts'
import { type Fault, invalidRequest } from '../../base/problem.ts'
import { isEventName } from '../../model/event.ts'
import { findLastEventId } from '../../store/events.ts'
import { listInboxes } from '../../store/inboxes.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { findReachableInbox, getInboxRow } from '../app/reach.ts'
import type { EventScope, EventSink, Subscription } from '../app/stream.ts'
import { type EventsAsked, findReachableEvent } from './list.ts'

/** Inboxes that a pod key reaches and that `subscribed` names. */
export const streamInboxesNamed = 1000

/** Which events are wanted, within what the caller reaches: undefined, or none, is no choice. */
export interface SubscriptionAsked {
  /** Ids or addresses. */
  readonly inboxIds?: readonly string[] | undefined
  readonly types?: readonly string[] | undefined
  /** The id of the last event that is known; what came later is told first. Without it: what comes from now on. */
  readonly after?: string | undefined
}

/**
 * What is asked for, as far as it can be had. `faults` say what of it can not, by the names of the WebSocket's messages:
 * inboxes that are not there or out of the caller's reach (the two are not told apart), types that nothing has, and a
 * cursor that is no event which the caller reaches. Of what was named and can not be had a choice of none is left.
 */
export async function readSubscription(
  app: App,
  caller: Caller,
  asked: SubscriptionAsked,
): Promise<{ subscription: Subscription; faults: readonly Fault[] }> {
  const { inboxIds, faults: unknown } = await readInboxIds(app, caller, asked.inboxIds ?? [])
  const faults = [...unknown]
  const types = new Set<string>()
  for (const [index, type] of (asked.types ?? []).entries()) {
    if (isEventName(type)) types.add(type)
    else faults.push({ path: `/event_types/${index}`, message: `is no type of event: ${type}` })
  }
  const nothing = 'so nothing was subscribed: no answer of the type subscribed comes'
  if (asked.inboxIds?.length && inboxIds.size === 0)
    faults.unshift({ path: '/inbox_ids', message: `names no inbox that the key reaches, ${nothing}` })
  if (asked.types?.length && types.size === 0)
    faults.unshift({ path: '/event_types', message: `names no type of event that there is, ${nothing}` })
  const { after } = asked
  const cursor = after === undefined ? undefined : await findReachableEvent(app.store.read, caller, after)
  if (after !== undefined && !cursor) {
    const message = 'is no event that is kept and that the key reaches, so what happens from now on is told'
    faults.push({ path: '/last_event_id', message })
  }
  const subscription = {
    inboxIds: asked.inboxIds?.length ? inboxIds : null,
    types: asked.types?.length ? types : null,
    after: cursor?.id ?? (await newestId(app)),
  }
  return { subscription, faults }
}

/** The ids of inboxes that are named by id or address, and what of these are none that the caller reaches. */
export async function readInboxIds(
  app: App,
  caller: Caller,
  names: readonly string[],
): Promise<{ inboxIds: ReadonlySet<string>; faults: readonly Fault[] }> {
  const inboxIds = new Set<string>()
  const faults: Fault[] = []
  for (const [index, name] of names.entries()) {
    const inbox = await findReachableInbox(app.store.read, caller, name)
    if (inbox) inboxIds.add(inbox.id)
    else faults.push({ path: `/inbox_ids/${index}`, message: `is no inbox that the key reaches: ${name}` })
  }
  return { inboxIds, faults }
}

/**
 * The inboxes that a subscription means now: those that it names, else all that a scoped key reaches, at most
 * `streamInboxesNamed` of them; none for all of an account.
 */
export async function listMeantInboxes(
  app: App,
  { podId, inboxId }: Caller,
  { inboxIds }: Subscription,
): Promise<{ ids: readonly string[]; isCut: boolean }> {
  if (inboxIds) return { ids: [...inboxIds], isCut: false }
  if (inboxId !== null) return { ids: [inboxId], isCut: false }
  if (podId === null) return { ids: [], isCut: false }
  const page = { limit: streamInboxesNamed, offset: 0 }
  const { rows, total } = await listInboxes(app.store.read, { podId, withSystem: true }, page)
  return { ids: rows.map(row => row.id), isCut: total > rows.length }
}

async function newestId(app: App): Promise<string> {
  return (await findLastEventId(app.store.read)) ?? ''
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
  const inbox = inboxId === undefined ? undefined : await getInboxRow(app.store.read, caller, inboxId)
  if (after !== undefined && !isId(after)) {
    throw invalidRequest('', 'The id of the last event that is known must be the id of an event')
  }
  const newest = await newestId(app)
  const asked = after?.toLowerCase() ?? newest
  const isPast = asked < firstIdAt(app.clock.now().toISOString())
  const subscription = {
    inboxIds: inbox ? new Set([inbox.id]) : null,
    types: type === undefined ? null : new Set([type]),
    // A place in the order of events, as in lists. Nobody may wait for an id that is ahead of time, and miss all before it. One that is not, and
    // not there, is of a database that this node has still to find: on the old one of two primaries it would be told anew what it knows.
    after: asked < newest || isPast ? asked : newest,
  }
  return sink => {
    const { reader, close } = app.stream.open(caller, sink)
    reader.add(subscription)
    return close
  }
}
