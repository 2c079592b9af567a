import type {
  DailyUsageRow,
  EventRow,
  QueueEntryRow,
  Tables,
  UnindexedBodyRow,
  WebhookDeliveryRow,
} from '../tables.ts'
import { dialectOf, type WriteDb } from './dialect.ts'

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

/** The tables whose rows a write may leave, each after those that its rows refer to. */
export const leftTables = [
  'raw',
  'reading',
  'thread',
  'message',
  'delivery',
  'queueEntry',
  'attempt',
] as const
type LeftTable = (typeof leftTables)[number]

/**
 * What writes leave to the last statements of their transaction (`../last-statements.ts`), because nothing in a write reads
 * it back: the rows of all its writes are inserted together.
 */
export interface LeftRows {
  readonly events: LeftEvent[]
  readonly unindexed: UnindexedBodyRow[]
  /** What is counted more. */
  readonly days: DailyUsageRow[]
  /** What is inserted from `leaveInserts` on. */
  readonly inserts: Map<LeftTable, Tables[LeftTable][]>
}

/** What the write that is under way on a handle leaves, and what the writes before it in its transaction have. */
interface Gathered {
  readonly before: LeftRows
  readonly own: LeftRows
  leavesInserts: boolean
}
const underWay = new WeakMap<WriteDb, Gathered>()

export function noRows(): LeftRows {
  return { events: [], unindexed: [], days: [], inserts: new Map() }
}

/** Gathers in `own` what the write that now begins on this handle leaves; `before` is what is left already. */
export function gatherRows(db: WriteDb, own: LeftRows, before: LeftRows = noRows()): void {
  underWay.set(db, { before, own, leavesInserts: false })
}

/**
 * Neither this write nor what shares a transaction with it reads back what it inserts from now on: on a server, where each statement
 * of each write is a round trip, these rows are left as well.
 */
export function leaveInserts(db: WriteDb): void {
  gatheredOn(db).leavesInserts = dialectOf(db) === 'postgres'
}

/** Leaves rows that are to be inserted, where the write that is under way leaves them; gives whether it does. */
export function leaveToInsert<Name extends keyof Tables>(
  db: WriteDb,
  table: Name,
  rows: readonly Tables[Name][],
): boolean {
  const gathered = underWay.get(db)
  if (!gathered?.leavesInserts || !isLeftTable(table)) return false
  addInserts(gathered.own, table, rows as never)
  return true
}

function addInserts({ inserts }: LeftRows, table: LeftTable, rows: readonly Tables[LeftTable][]): void {
  const known = inserts.get(table)
  if (known) known.push(...rows)
  else inserts.set(table, [...rows])
}

const isLeftTable = (table: keyof Tables): table is LeftTable => leftTables.includes(table as LeftTable)

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
  for (const [table, rows] of from.inserts) addInserts(to, table, rows)
}
