import { sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'
import { prepared, type Values } from './dialect/prepared.ts'
import type { QueueEntryRow } from './tables.ts'

/** Where a claim looks: the due entries of a kind in a lane. */
export interface Line {
  readonly kind: string
  readonly lane: 'fast' | 'slow'
  readonly now: string
}

/** The entries of a line that have been due for longest, whoever's they are: all of them, where fewer than `limit` are due. */
export async function listDueEntries(
  db: Db,
  { kind, lane, now }: Line,
  limit: number,
): Promise<QueueEntryRow[]> {
  return due(db, { kind, lane, now, limit })
}
const due = prepared((db, { kind, lane, now, limit }: Line & Values & { limit: number }) =>
  db
    .selectFrom('queueEntry')
    .selectAll()
    .where('kind', '=', kind)
    .where('lane', '=', lane)
    .where('dueAt', '<=', now)
    .orderBy('dueAt')
    .orderBy('id')
    .limit(limit),
).rows

/** The part of a line whose destinations are known to answer, or the rest of it. */
export interface Part extends Line {
  readonly isKnown: 0 | 1
}

/** The first pods behind `after` that have due entries, in the order of their ids. */
export async function listDuePods(
  db: Db,
  { kind, lane, isKnown, now }: Part,
  after: string,
  limit: number,
): Promise<string[]> {
  const rows = await duePods[lane](db, { kind, isKnown, now, after, limit })
  return rows.map(({ podId }) => podId)
}
type Pods = Values & Pick<Part, 'kind' | 'isKnown' | 'now'> & { after: string; limit: number }
// From one pod to the next by the index: to ask for those that differ would read all entries.
const podsOf = (lane: Line['lane']) =>
  prepared((db, { kind, isKnown, now, after, limit }: Pods) => {
    const next = sql`select min("podId") from "queueEntry"
      where "kind" = ${kind} and "lane" = ${sql.lit(lane)} and "isKnown" = ${isKnown}`
    const isDue = sql`exists (select 1 from "queueEntry" where "kind" = ${kind} and "lane" = ${sql.lit(lane)}
      and "isKnown" = ${isKnown} and "podId" = pod ${lane === 'slow' ? sql`and "dueAt" <= ${now}` : sql``} limit 1)`
    const pods = sql<{ podId: string }>`with recursive "some" (pod) as (
        ${next} and "podId" > ${after} union all select (${next} and "podId" > pod) from "some" where pod is not null)
      select pod as "podId" from "some" where pod is not null and ${isDue} limit ${limit}`
    return { compile: () => pods.compile(db) }
  }).rows
const duePods = { fast: podsOf('fast'), slow: podsOf('slow') }

/**
 * The entries of a pod that are next, of those whose destinations are not among `full`.
 * @param window how many entries are looked at, so that many for destinations that are full take no longer
 */
export async function listDueOfPod(
  db: Db,
  { kind, lane, isKnown, now }: Part,
  podId: string,
  full: readonly string[],
  { limit, window }: { readonly limit: number; readonly window: number },
): Promise<QueueEntryRow[]> {
  return dueOfPod[lane](db, { kind, isKnown, now, podId, limit, window }, full.length > 0 ? full : ['-'])
}
type OfPod = Values &
  Pick<Part, 'kind' | 'isKnown' | 'now'> & { podId: string; limit: number; window: number }
const ofPodIn = (lane: Line['lane']) =>
  prepared((db, { kind, isKnown, now, podId, limit, window }: OfPod, full = []) =>
    db
      .selectFrom(
        db
          .selectFrom('queueEntry')
          .selectAll()
          .where('kind', '=', kind)
          .where('lane', '=', sql.lit(lane))
          .where('isKnown', '=', isKnown)
          .where('podId', '=', podId)
          .$if(lane === 'slow', query => query.where('dueAt', '<=', now))
          .orderBy(lane === 'slow' ? 'dueAt' : 'turn')
          .orderBy('id')
          .limit(window)
          .as('some'),
      )
      .selectAll()
      .where('destination', 'not in', full)
      .limit(limit),
  ).rows
const dueOfPod = { fast: ofPodIn('fast'), slow: ofPodIn('slow') }
