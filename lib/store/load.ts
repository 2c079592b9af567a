import { sql } from 'kysely'
import type { Db } from './dialect/dialect.ts'

/** Where an entry of the queue stands: due, later (also while it is under way), or held. */
export const waitingStates = ['due', 'later', 'held'] as const
export type WaitingState = (typeof waitingStates)[number]

/** How many entries of a kind stand so, counted up to `most`: by the index, and never more of it. */
export async function countWaiting(
  db: Db,
  of: { readonly kind: string; readonly state: WaitingState; readonly now: string },
  most: number,
): Promise<number> {
  const { kind, state, now } = of
  const isHeld = state === 'held'
  const some = db
    .selectFrom('queueEntry')
    .select('id')
    .where('kind', '=', kind)
    .where('lane', 'in', isHeld ? ['held'] : ['fast', 'slow'])
    .$if(!isHeld, query => query.where('dueAt', state === 'due' ? '<=' : '>', now))
    .limit(most)
  const { count } = await db
    .selectFrom(some.as('some'))
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Since when the entry of a kind that is due longest is due; undefined where none is. */
export async function findLongestDue(db: Db, kind: string, now: string): Promise<string | undefined> {
  const firstIn = (lane: string) =>
    db
      .selectFrom('queueEntry')
      .select('dueAt')
      .where('kind', '=', kind)
      .where('lane', '=', lane)
      .where('dueAt', '<=', now)
      .orderBy('dueAt')
      .limit(1)
      .executeTakeFirst()
  const found = await Promise.all(['fast', 'slow'].map(firstIn))
  return found.flatMap(row => row?.dueAt ?? []).sort()[0]
}

/** When the oldest entry of the queue was put there: ids are in the order of time. */
export async function findOldestQueued(db: Db): Promise<string | undefined> {
  const row = await db.selectFrom('queueEntry').select('createdAt').orderBy('id').limit(1).executeTakeFirst()
  return row?.createdAt
}

/** How many messages are not in the search index yet, or could not be put there, each counted up to `most`. */
export async function countUnindexed(db: Db, state: 'waiting' | 'failed', most: number): Promise<number> {
  const some = db
    .selectFrom('unindexedBody')
    .select('messageId')
    .where('state', 'in', state === 'failed' ? ['failed'] : ['new', 'partial'])
    .limit(most)
  const { count } = await db
    .selectFrom(some.as('some'))
    .select(eb => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** When the oldest message came that waits for the search index; undefined where none does. */
export async function findOldestUnindexed(db: Db): Promise<string | undefined> {
  const oldest = (state: string) =>
    db
      .selectFrom('unindexedBody')
      .innerJoin('message', 'message.id', 'unindexedBody.messageId')
      .select('message.createdAt')
      .where('unindexedBody.state', '=', sql.lit(state))
      .orderBy('unindexedBody.messageId')
      .limit(1)
      .executeTakeFirst()
  const found = await Promise.all(['new', 'partial'].map(oldest))
  return found.flatMap(row => row?.createdAt ?? []).sort()[0]
}
