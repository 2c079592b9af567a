import { setImmediate } from 'node:timers/promises'
import type { Db } from '../../store/dialect/dialect.ts'
import { type EventFilter, listEvents } from '../../store/events.ts'
import type { EventRow } from '../../store/tables.ts'
import type { Caller } from '../app/caller.ts'
import type { Subscription } from '../app/stream.ts'

/** Rows of events that one reader of the past holds. */
const streamReplayRows = 100
/** The newest events that all readers share: how many, their bytes, and how long. Older ones are read again. */
export const streamWindowEvents = 10_000
export const streamWindowBytes = 32 * 1024 * 1024
export const streamWindowMs = 60_000

/** An event that has just happened. */
export interface WindowEvent {
  readonly row: EventRow
  /** The text of it, made when it came if anybody read then, and shared by all readers. */
  readonly body: Buffer | undefined
}

/** The newest events, all of them between two ids; the oldest leave when they are too many, too large or too old. */
export interface EventWindow {
  /** Everything after this id, up to `end`, is in the window. */
  readonly start: string
  readonly end: string
  append(events: readonly WindowEvent[], nowMs: number): void
  /** At most `limit` events after an id that is not before `start`, in order. */
  after(id: string, limit: number): readonly WindowEvent[]
  dropOld(nowMs: number): void
}

/** @param from the id that it begins after */
export function createEventWindow(from: string): EventWindow {
  const kept: { readonly event: WindowEvent; readonly atMs: number }[] = []
  let bytes = 0
  let start = from
  let end = from

  function drop(): void {
    const { row, body } = kept.shift()!.event
    start = row.id
    bytes -= body?.length ?? 0
  }

  /** Where the first event after `id` stands. */
  function find(id: string): number {
    let low = 0
    let high = kept.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (kept[middle]!.event.row.id > id) high = middle
      else low = middle + 1
    }
    return low
  }

  return {
    get start() {
      return start
    },
    get end() {
      return end
    },
    append(events, nowMs) {
      for (const event of events) {
        kept.push({ event, atMs: nowMs })
        bytes += event.body?.length ?? 0
        end = event.row.id
      }
      while (kept.length > streamWindowEvents || bytes > streamWindowBytes) drop()
    },
    after(id, limit) {
      const at = find(id)
      return kept.slice(at, at + limit).map(({ event }) => event)
    },
    dropOld(nowMs) {
      while (kept.length > 0 && nowMs - kept[0]!.atMs > streamWindowMs) drop()
    },
  }
}

/** A part of the table that one index gives in order, from a cursor on. */
export type EventSource = Pick<EventFilter, 'podId' | 'inboxId' | 'type'> & { readonly after: string }

/**
 * Where the events of a subscription are: a source for each inbox; else the pod; else, for the whole account, a source
 * for each type. So no more is read than what is taken, but for other types of an inbox or a pod.
 */
export function sourcesOf(
  caller: Caller,
  { inboxIds, types }: Subscription,
  after: string,
): readonly EventSource[] {
  const { podId, inboxId } = caller
  if (inboxIds) return [...inboxIds].map(id => ({ podId, inboxId: id, type: undefined, after }))
  if (podId !== null || inboxId !== null || !types) return [{ podId, inboxId, type: undefined, after }]
  return [...types].map(type => ({ podId, inboxId, type, after }))
}

interface Head {
  readonly source: EventSource
  rows: readonly EventRow[]
  /** The last row that was read; what is after it is still in the table, unless isAtEnd. */
  readUpTo: string
  isAtEnd: boolean
}

/** Queries after which others get the event loop. */
const queriesAtOnce = 50

/** The events of all sources up to the id `until`, in order, each once, some at a time. */
export async function* replayEvents(
  db: Db,
  sources: readonly EventSource[],
  until: string,
): AsyncGenerator<readonly EventRow[]> {
  const limit = Math.max(10, Math.ceil(streamReplayRows / sources.length))
  let heads: Head[] = sources.map(source => ({ source, rows: [], readUpTo: source.after, isAtEnd: false }))
  let queries = 0
  while (heads.length > 0) {
    for (const head of heads) {
      if (head.rows.length > 0 || head.isAtEnd) continue
      head.rows = await listEvents(db, { ...head.source, after: head.readUpTo, until }, limit)
      head.readUpTo = head.rows.at(-1)?.id ?? head.readUpTo
      head.isAtEnd = head.rows.length < limit
      if (++queries % queriesAtOnce === 0) await setImmediate()
    }
    // Up to here nothing can come any more that is not in hand.
    const known = heads.reduce((least, { isAtEnd, readUpTo }) => {
      return isAtEnd || least < readUpTo ? least : readUpTo
    }, until)
    const byId = new Map<string, EventRow>()
    for (const head of heads) {
      const end = head.rows.findIndex(row => row.id > known)
      for (const row of end < 0 ? head.rows : head.rows.slice(0, end)) byId.set(row.id, row)
      head.rows = end < 0 ? [] : head.rows.slice(end)
    }
    heads = heads.filter(head => head.rows.length > 0 || !head.isAtEnd)
    if (byId.size > 0) yield [...byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}
