import { setImmediate } from 'node:timers/promises'
import { takeTurns } from '../../base/concurrency.ts'
import { FairSlots } from '../../base/fair-slots.ts'
import { Problem, streamsPerKey } from '../../base/problem.ts'
import { filterActiveApiKeys } from '../../store/api-keys.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { findLastEventId, listEvents } from '../../store/events.ts'
import { type ReadScope, replaceReaders } from '../../store/readers.ts'
import type { EventRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { createTally, podShare } from '../app/share.ts'
import type { EventReader, EventSink, EventStream, StreamEnd } from '../app/stream.ts'
import { streamPage, streamPollMs } from '../mailbox/waiters.ts'
import { eventBodies } from './body.ts'
import { createEventReader, streamBatch } from './reader.ts'
import { createEventWindow, type EventWindow, type WindowEvent } from './window.ts'

/** Streams of events (WebSocket and Server-Sent Events) of the process. */
export const streams = 10_000
/** Events of all readers that are made into text at the same time: each may have `eventBytes`. */
const streamTextsAtOnce = 4
/** How long a client may leave them unread. */
export const streamDrainMs = 10_000

interface Place {
  readonly reader: EventReader
  readonly sink: EventSink
  /** Whether it is told nothing any more; its connection may still have to be read to its end. */
  readonly isEnded: boolean
  endReading(): void
  close(): void
}

export function createEventStream(app: App): EventStream {
  const places = new Set<Place>()
  const perKey = createTally<string | null>()
  const perPod = createTally<string>()
  let window: EventWindow | undefined
  let fallAsleep = () => {}
  let isStopped = false
  const turn = takeTurns()
  const making = new FairSlots({ size: streamTextsAtOnce })
  const presence = createPresence(app)
  /** What is under way, and whether it must be done once more. */
  const reading = onceAtATime(readEvents, error => app.log.error({ err: error }, 'events can not be read'))
  const checking = onceAtATime(checkKeys, error => app.log.error({ err: error }, 'keys can not be checked'))

  async function readEvents(): Promise<void> {
    if (places.size === 0) return
    const current = window ?? createEventWindow((await findLastEventId(app.store.read)) ?? '')
    if (places.size === 0) return
    window = current
    for (;;) {
      const everything = { podId: null, inboxId: null, type: undefined, after: current.end }
      const rows = await listEvents(app.store.read, everything, streamBatch)
      // A cursor that a power cut takes back would be another event's.
      await app.store.settled()
      if (rows.length > 0) current.append(await withBodies(rows), app.clock.monotonicMs())
      // All readers left meanwhile, and the next one begins with a window of its own.
      if (window !== current) return
      for (const { reader } of places) reader.wake()
      if (rows.length < streamBatch) return
      await setImmediate()
    }
  }

  /** Texts only of what somebody takes. */
  async function withBodies(rows: readonly EventRow[]): Promise<WindowEvent[]> {
    const taken = rows.filter(row => app.readers.has(row))
    const texts = taken.length > 0 ? await eventBodies(app, taken) : []
    const bodies = new Map(taken.map((row, index) => [row, Buffer.from(texts[index]!)]))
    return rows.map(row => ({ row, body: bodies.get(row) }))
  }

  async function checkKeys(): Promise<void> {
    const ids = [...new Set([...places].flatMap(({ reader }) => reader.caller.keyId ?? []))]
    const active = new Set<string>()
    for (let at = 0; at < ids.length; at += streamPage) {
      const some = ids.slice(at, at + streamPage)
      for (const id of await filterActiveApiKeys(app.store.read, some)) active.add(id)
    }
    const checked = new Set(ids)
    for (const place of [...places]) {
      const { keyId } = place.reader.caller
      if (keyId !== null && checked.has(keyId) && !active.has(keyId)) end(place, 'revoked')
    }
  }

  function end(place: Place, why: StreamEnd): void {
    // What a slow reader was told already is held until it is read, or cut off: so long it has its place.
    if (why === 'slow') place.endReading()
    else place.close()
    place.sink.end(why)
  }

  function tick(): void {
    const nowMs = app.clock.monotonicMs()
    window?.dropOld(nowMs)
    for (const place of [...places]) {
      if (place.isEnded) continue
      if (place.reader.stalledMs() >= streamDrainMs) end(place, 'slow')
      else place.sink.tick(nowMs)
    }
    tellPresence()
    // mailboxctl and other nodes record events and revoke keys too.
    reading()
    checking()
  }

  function tellPresence(): void {
    presence.set([...places].flatMap(place => (place.isEnded ? [] : place.reader.scopes())))
  }

  function wakeUp(): void {
    const timer = setInterval(tick, streamPollMs)
    const offs = [app.store.onCommit('event', reading), app.store.onCommit('revocation', checking)]
    fallAsleep = () => {
      clearInterval(timer)
      for (const off of offs) off()
      tellPresence()
      window = undefined
    }
    reading()
  }

  function requirePlace(): void {
    if (isStopped) throw new Problem('unavailable')
    if (places.size >= streams) {
      throw new Problem('unavailable', 'Too many streams of events are open. Try again shortly.')
    }
  }

  function requireShare({ keyId, podId }: Caller): void {
    if (perKey.of(keyId) >= streamsPerKey) throw new Problem('too_many_streams')
    if (podId !== null && perPod.of(podId) >= podShare(streams)) {
      throw new Problem('too_many_streams', 'The keys of this pod have as many streams open as they may.')
    }
  }

  function count({ keyId, podId }: Caller, change: 1 | -1): void {
    perKey.add(keyId, change)
    if (podId !== null) perPod.add(podId, change)
  }

  return {
    count: () => places.size,
    requirePlace,
    open(caller, sink) {
      requirePlace()
      requireShare(caller)
      const { reader, run } = createEventReader(app, caller, sink, () => window, turn, making)
      const leave = app.readers.add(reader.takes)
      let isEnded = false
      const place: Place = {
        reader,
        sink,
        get isEnded() {
          return isEnded
        },
        endReading() {
          isEnded = true
          reader.stop()
          leave()
        },
        close() {
          if (!places.delete(place)) return
          place.endReading()
          count(caller, -1)
          if (places.size === 0) fallAsleep()
        },
      }
      places.add(place)
      count(caller, 1)
      if (places.size === 1) wakeUp()
      run().catch(error => {
        if (error instanceof Problem) return end(place, 'full')
        app.log.error({ err: error }, 'a stream of events met a fault')
        end(place, 'fault')
      })
      return place
    },
    stop() {
      isStopped = true
      for (const place of [...places]) end(place, 'stopping')
    },
  }
}

/** A function that begins `work`, or has it done once more when it is under way. */
function onceAtATime(work: () => Promise<void>, failed: (error: unknown) => void): () => void {
  let isUnderWay = false
  let isAskedAgain = false
  return async () => {
    isAskedAgain = true
    if (isUnderWay) return
    isUnderWay = true
    try {
      while (isAskedAgain) {
        isAskedAgain = false
        await work()
      }
    } catch (error) {
      failed(error)
    } finally {
      isUnderWay = false
    }
  }
}

/** How many different inboxes and types the readers of one node are told to the others by. */
const readScopes = 1000

/** Tells other nodes who reads the stream of events at this one. */
interface Presence {
  /** This is what readers take by now. */
  set(scopes: readonly ReadScope[]): void
}

/**
 * Rows, for who takes mail in or calls a webhook at another node asks them (`Readers.isRead`). They follow what is so within a second, and go
 * with the start of the node. Of more than `readScopes` some are not told of: then a webhook is called that need not be.
 */
function createPresence({ store, nodes, log }: App): Presence {
  if (store.dialect === 'sqlite') return { set() {} }
  let wanted: readonly ReadScope[] = []
  let told = ''
  let isTelling = false

  const nameOf = (holder: string) => `${holder}\n${JSON.stringify(wanted)}`

  async function tell(): Promise<void> {
    if (isTelling) return
    isTelling = true
    try {
      for (let { holder } = nodes; told !== nameOf(holder); { holder } = nodes) {
        const name = nameOf(holder)
        const scopes = wanted
        await store.writeHolding(holdsNothing, db => replaceReaders(db, holder, scopes))
        told = name
      }
    } catch (error) {
      log.warn({ err: error }, 'other nodes can not be told who reads events here')
      setTimeout(tell, streamPollMs).unref()
    } finally {
      isTelling = false
    }
  }

  return {
    set(scopes) {
      const all = new Map(scopes.map(scope => [JSON.stringify(scope), scope]))
      wanted = [...all.values()].slice(0, readScopes)
      // Nobody was ever told of any.
      if (wanted.length > 0 || told !== '') void tell()
    },
  }
}
