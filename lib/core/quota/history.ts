import { takeTurns } from '../../base/concurrency.ts'
import { invalidRequest } from '../../base/problem.ts'
import { readInstant } from '../../base/time.ts'
import type { UsageGrouping, UsageHistory } from '../../model/usage.ts'
import { type DayCounts, type DayOfInbox, listDay, listDaysOfInbox } from '../../store/daily-usage.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { listInboxAddresses } from '../../store/inboxes.ts'
import type { Rows } from '../app/app.ts'
import { getAccountRow } from '../app/reach.ts'
import { utcDay } from './period.ts'

/**
 * What was sent and received: days that are asked for at once, and unless said; rows of inboxes and days that one turn of
 * the event loop reads; inboxes that are told apart, and those of them that are listed.
 */
const usageDaysAsked = 92
const usageDefaultDays = 30
const usageSliceRows = 5_000
const usageInboxes = 100_000
const usageRows = 1_000

const dayMs = 86_400_000

/** What is asked for: days, both included, and what a row is of. */
export interface HistoryAsked {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly group_by?: UsageGrouping | undefined
}

/** Whose: one inbox, a pod, or, both null, the account. */
export interface HistoryScope {
  readonly podId: string | null
  readonly inboxId: string | null
}

/** Many rows hold the event loop: each slice of them is read in a turn of its own. */
const takeTurn = takeTurns()

/**
 * What was sent and received: all of it added up day by day, inbox by inbox, pod by pod, or as one. Of very many inboxes
 * those with the most messages are listed; the totals are of all.
 * @throws Problem `invalid_request` for days that are none, or too many
 */
export async function readHistory(
  app: Rows,
  scope: HistoryScope,
  asked: HistoryAsked,
): Promise<UsageHistory> {
  const { from, to } = readRange(asked, app.clock.now())
  const groupBy = asked.group_by ?? 'day'
  const sums = createSums()
  for (let at = Date.parse(from); at <= Date.parse(to); at += dayMs) sums.day(utcDay(new Date(at)))
  const db = app.store.read
  if (scope.inboxId !== null) {
    for (const one of await listDaysOfInbox(db, { inboxId: scope.inboxId, from, to })) sums.add(one)
  } else {
    for (const day of sums.days.keys()) await addDay(db, sums, day, scope.podId)
  }
  const inboxes = await listedInboxes(db, sums)
  const rows = {
    day: () => [...sums.days].map(([day, counts]) => ({ day, ...counts })),
    inbox: () => inboxes,
    pod: () => [...sums.pods].map(([podId, counts]) => ({ podId, ...counts })),
    account: async () => [{ accountId: (await getAccountRow(db)).id, ...sums.all }],
  }
  return { from, to, groupBy, rows: await rows[groupBy](), inboxes, totals: sums.all }
}

async function addDay(db: Db, sums: Sums, day: string, podId: string | null): Promise<void> {
  const limit = usageSliceRows
  for (let after = ''; ; ) {
    const slice = await listDay(db, { day, podId, after }, limit)
    for (const one of slice) sums.add(one)
    if (slice.length < limit) return
    after = slice.at(-1)!.inboxId
    await takeTurn()
  }
}

type Counts = { -readonly [Name in keyof DayCounts]: DayCounts[Name] }
const zero: DayCounts = {
  inbound: 0,
  outbound: 0,
  delivered: 0,
  bounced: 0,
  attachmentBytes: 0,
  storedBytes: 0,
}

interface Sums {
  readonly all: Counts
  readonly days: Map<string, Counts>
  readonly pods: Map<string, Counts>
  /** At most `usageInboxes`. */
  readonly inboxes: Map<string, Counts & { podId: string }>
  /** Has the day a row, whether anything happened on it or not. */
  day(day: string): void
  add(one: DayOfInbox): void
}

function createSums(): Sums {
  const all: Counts = { ...zero }
  const days = new Map<string, Counts>()
  const pods = new Map<string, Counts>()
  const inboxes = new Map<string, Counts & { podId: string }>()
  const sumOf = <Sum>(sums: Map<string, Sum>, name: string, first: () => Sum): Sum => {
    const sum = sums.get(name) ?? first()
    sums.set(name, sum)
    return sum
  }
  return {
    all,
    days,
    pods,
    inboxes,
    day: day => void days.set(day, { ...zero }),
    add({ day, inboxId, podId, ...counts }) {
      const sums: Counts[] = [all]
      sums.push(sumOf(days, day, () => ({ ...zero })))
      sums.push(sumOf(pods, podId, () => ({ ...zero })))
      if (inboxes.has(inboxId) || inboxes.size < usageInboxes) {
        sums.push(sumOf(inboxes, inboxId, () => ({ podId, ...zero })))
      }
      for (const sum of sums) {
        for (const name of Object.keys(zero) as (keyof DayCounts)[]) sum[name] += counts[name]
      }
    },
  }
}

/** Those with the most messages first, `usageRows` of them. */
async function listedInboxes(db: Db, { inboxes }: Sums): Promise<UsageHistory['inboxes']> {
  const busy = ({ inbound, outbound }: DayCounts) => inbound + outbound
  const most = [...inboxes].sort(([, one], [, other]) => busy(other) - busy(one)).slice(0, usageRows)
  const addresses = await listInboxAddresses(
    db,
    most.map(([id]) => id),
  )
  return most.map(([inboxId, counts]) => ({ inboxId, address: addresses.get(inboxId) ?? null, ...counts }))
}

/** The last 30 days unless they are said. */
function readRange({ from, to }: HistoryAsked, now: Date): { from: string; to: string } {
  const last = to === undefined ? utcDay(now) : requireDay(to, 'query/to')
  const before = (days: number) => utcDay(new Date(Date.parse(last) - days * dayMs))
  const first = from === undefined ? before(usageDefaultDays - 1) : requireDay(from, 'query/from')
  if (first > last) throw invalidRequest('query/from', 'must not be after `to`')
  if (first < before(usageDaysAsked - 1)) {
    throw invalidRequest('query/from', `must be at most ${usageDaysAsked} days before the end of \`to\``)
  }
  return { from: first, to: last }
}

/** The UTC day of a day or an instant, as counts name it. */
function requireDay(text: string, where: string): string {
  const at = readInstant(text)
  // A day such as the 30th of February is read as another.
  const isDay = at !== undefined && (text.length > 10 || at.startsWith(text))
  if (!isDay) throw invalidRequest(where, 'must be a day such as 2026-01-31, or an instant')
  return at.slice(0, 10)
}
