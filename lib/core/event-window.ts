import { limits } from '../base/limits.ts'
import type { EventRow } from '../store/tables.ts'

/** An event that has just happened. */
export interface WindowEvent {
  readonly row: EventRow
  /** As it is told, if somebody took it when it came; shared by all who are told it. */
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
      while (kept.length > limits.streamWindowEvents || bytes > limits.streamWindowBytes) drop()
    },
    after(id, limit) {
      const at = find(id)
      return kept.slice(at, at + limit).map(({ event }) => event)
    },
    dropOld(nowMs) {
      while (kept.length > 0 && nowMs - kept[0]!.atMs > limits.streamWindowMs) drop()
    },
  }
}
