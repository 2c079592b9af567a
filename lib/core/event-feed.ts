import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import type { EventsAsked } from './event-list.ts'
import type { EventSink } from './event-reader.ts'
import { readSubscription } from './event-subscription.ts'
import { getInboxRow } from './inboxes.ts'

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
