import type { FairSlots } from '../../base/fair-slots.ts'
import type { ReadScope } from '../../store/readers.ts'
import type { EventRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import type { EventReader, EventScope, EventSink, Subscription, TextRoom } from '../app/stream.ts'
import { eventBody, eventBytes } from './body.ts'
import { takesEvent } from './subscription.ts'
import { type EventWindow, replayEvents, sourcesOf, type WindowEvent } from './window.ts'

/** Events that are read together. */
export const streamBatch = 32
/** Subscriptions of one connection. */
export const streamSubscriptions = 20

interface Followed {
  subscription: Subscription
  /** All that it takes up to this id was told. */
  upTo: string
}

/**
 * @param window that of the hub, once it has begun
 * @param turn resolves when it is this reader's turn to read the table
 * @param making of those that make a text, few at once of all readers
 */
export function createEventReader(
  app: App,
  caller: Caller,
  sink: EventSink,
  window: () => EventWindow | undefined,
  turn: () => Promise<void>,
  making: FairSlots,
): { readonly reader: EventReader; run(): Promise<void> } {
  let followed: Followed[] = []
  /** Moves with the subscriptions: whatever was being told must be looked at afresh. */
  let version = 0
  let isStopped = false
  let wake = () => {}
  let stalledSince: number | undefined

  const takes = ({ subscription }: Followed, event: EventScope) => takesEvent(caller, subscription, event)

  /** Wanted by a subscription that has not come so far, and not told already for another. */
  function isWanted(event: EventRow): boolean {
    let isWanted = false
    for (const one of followed) {
      if (event.id <= one.subscription.after || !takes(one, event)) continue
      if (event.id <= one.upTo) return false
      isWanted = true
    }
    return isWanted
  }

  function moveTo(id: string): void {
    for (const one of followed) if (one.upTo < id) one.upTo = id
  }

  async function waitForRoom(): Promise<void> {
    stalledSince = app.clock.monotonicMs()
    await sink.drained()
    stalledSince = undefined
  }

  /** Tells events until the connection is full or the subscriptions change; gives how many it was done with. */
  async function tell(events: readonly WindowEvent[]): Promise<number> {
    const began = version
    let count = 0
    for (const { row, body } of events) {
      if (sink.isFull()) break
      if (isWanted(row)) {
        const own = body ? undefined : await makeOwn(row)
        if (isStopped || began !== version) {
          own?.room.leave()
          break
        }
        if (own) sink.write(row, own.text, own.room.leave)
        else sink.write(row, body!)
      }
      moveTo(row.id)
      count++
    }
    return count
  }

  /** The text of an event for this reader alone. There is one at a time: a hundred readers who begin early would have all of theirs in memory. */
  async function makeOwn(row: EventRow): Promise<{ readonly text: Buffer; readonly room: TextRoom }> {
    const room = await sink.enter(eventBytes)
    const leave = await making.enter(caller.keyId ?? '')
    try {
      const text = Buffer.from(await eventBody(app, row, 1))
      room.become(text.length)
      return { text, room }
    } catch (error) {
      room.leave()
      throw error
    } finally {
      leave?.()
    }
  }

  async function tellFromTable(until: string): Promise<void> {
    const began = version
    const behind = followed.filter(({ upTo }) => upTo < until)
    const sources = behind.flatMap(({ subscription, upTo }) => sourcesOf(caller, subscription, upTo))
    for await (const rows of replayEvents(app.store.read, sources, until)) {
      for (let at = 0; at < rows.length; ) {
        const some = rows.slice(at, at + streamBatch)
        at += await tell(some.map(row => ({ row, body: undefined })))
        if (sink.isFull()) await waitForRoom()
        await turn()
        if (isStopped || began !== version) return
      }
    }
    if (began === version) moveTo(until)
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      const next = Promise.withResolvers<void>()
      wake = next.resolve
      const recent = window()
      const from = followed.reduce<string | undefined>((least, { upTo }) => {
        return least !== undefined && least < upTo ? least : upTo
      }, undefined)
      if (!recent || from === undefined || from >= recent.end) await next.promise
      else if (from < recent.start) await tellFromTable(recent.end)
      else await tell(recent.after(from, streamBatch))
      // Here nothing is held of what the window has let go meanwhile.
      if (sink.isFull()) await waitForRoom()
    }
  }

  return {
    run,
    reader: {
      caller,
      get isSubscribed() {
        return followed.length > 0
      },
      add(subscription) {
        if (followed.some(one => includes(one.subscription, subscription))) return true
        if (followed.length >= streamSubscriptions) return false
        followed.push({ subscription, upTo: subscription.after })
        version++
        wake()
        return true
      },
      remove(inboxIds) {
        if (inboxIds && followed.some(one => one.subscription.inboxIds === null)) return false
        followed = inboxIds === null ? [] : followed.flatMap(one => without(one, inboxIds))
        version++
        return true
      },
      takes: event => followed.some(one => takes(one, event)),
      scopes: () => followed.flatMap(({ subscription }) => scopesOf(caller, subscription)),
      wake: () => wake(),
      stalledMs: () => (stalledSince === undefined ? 0 : app.clock.monotonicMs() - stalledSince),
      stop() {
        isStopped = true
        wake()
      },
    },
  }
}

function without(one: Followed, inboxIds: ReadonlySet<string>): Followed[] {
  const { subscription } = one
  const left = new Set([...(subscription.inboxIds ?? [])].filter(id => !inboxIds.has(id)))
  return left.size === 0 ? [] : [{ ...one, subscription: { ...subscription, inboxIds: left } }]
}

function scopesOf({ podId, inboxId }: Caller, { inboxIds, types }: Subscription): ReadScope[] {
  return [...(inboxIds ?? [inboxId ?? ''])].flatMap(inbox =>
    [...(types ?? [''])].map(type => ({ podId: inbox === '' ? (podId ?? '') : '', inboxId: inbox, type })),
  )
}

/** Whether all that `other` takes is taken by `one`. */
function includes(one: Subscription, other: Subscription): boolean {
  const isWithin = (inner: ReadonlySet<string> | null, outer: ReadonlySet<string> | null) =>
    outer === null || (inner !== null && [...inner].every(each => outer.has(each)))
  return (
    one.after <= other.after && isWithin(other.inboxIds, one.inboxIds) && isWithin(other.types, one.types)
  )
}
