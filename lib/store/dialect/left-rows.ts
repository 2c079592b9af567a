import type {
  DailyUsageRow,
  EventRow,
  QueueEntryRow,
  UnindexedBodyRow,
  WebhookDeliveryRow,
} from '../tables.ts'
import type { WriteDb } from './dialect.ts'

/** An event without its place in the stream yet, with the work for its webhook. */
export interface LeftEvent {
  readonly row: EventRow
  readonly webhook: LeftCall | undefined
}

/** The call of a webhook. */
export interface LeftCall {
  readonly delivery: WebhookDeliveryRow
  /** Undefined where the queue has nothing to do with it. */
  readonly entry?: QueueEntryRow | undefined
}

/**
 * What writes leave to the last statements of their transaction (`../last-statements.ts`), because nothing in a write reads
 * it back: the rows of all its writes are inserted together.
 */
export interface LeftRows {
  readonly events: LeftEvent[]
  readonly unindexed: UnindexedBodyRow[]
  /** What is counted more. */
  readonly days: DailyUsageRow[]
}

/** Those of the writes that are under way, and of the writes before them in their transactions. */
const underWay = new WeakMap<WriteDb, { readonly before: LeftRows; readonly own: LeftRows }>()

export function noRows(): LeftRows {
  return { events: [], unindexed: [], days: [] }
}

/** Gathers in `own` what the write that now begins on this handle leaves; `before` is what is left already. */
export function gatherRows(db: WriteDb, own: LeftRows, before: LeftRows = noRows()): void {
  underWay.set(db, { before, own })
}

/** What the write that is under way leaves. */
export function leftRows(db: WriteDb): LeftRows {
  return gatheredOn(db).own
}

/** The events that have no place yet, of this write and of those before it. */
export function leftEvents(db: WriteDb): readonly LeftEvent[] {
  const { before, own } = gatheredOn(db)
  return [...before.events, ...own.events]
}

function gatheredOn(db: WriteDb) {
  const gathered = underWay.get(db)
  if (!gathered) throw new Error('only a write leaves rows')
  return gathered
}

/** Adds what another write of the same transaction left. */
export function addRows(to: LeftRows, from: LeftRows): void {
  to.events.push(...from.events)
  to.unindexed.push(...from.unindexed)
  to.days.push(...from.days)
}
