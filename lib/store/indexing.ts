import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseDamaged, isStorageFault, postgresAgainMs, StorageUnreachable } from '../base/faults.ts'
import type { Clock } from '../base/time.ts'
import { type Db, dialectOf, type WriteDb } from './dialect/dialect.ts'
import { indexPollMs } from './dialect/kept-thread.ts'
import { mergeIndex } from './search/full-text.ts'
import { type SearchWords, searchWords } from './search/words.ts'
import {
  dropUnindexed,
  listUnindexed,
  passOver,
  putIntoIndex,
  retryPassedOver,
  stillUnindexed,
  type Unindexed,
} from './unindexed-bodies.ts'

/** Messages, and bytes of their texts, that are indexed together. */
const indexBatch = 256
const indexBatchBytes = 1024 * 1024
/** Messages that PostgreSQL indexes by one statement. */
const indexedAtOnce = 32
/** How long one batch may take, for writers wait for it. */
const indexMs = 10

/** The database as the follower of the index works on it. */
export interface Followed {
  readonly read: Db
  /** What it writes may be lost with the power: it is still noted as to be done then. Gives undefined, with nothing done, while another process follows. */
  write<T>(work: (db: WriteDb) => Promise<T>): Promise<T | undefined>
  /** Whether others wait for what is being written to be over. */
  isWanted?(): boolean
  /** Another one when anything was committed; undefined where that is not known. */
  version(): number | undefined
  /** Gives some of what was freed back to the disk; whether there was any. */
  freeSome?(): boolean
}

/** What goes wrong: with one message, which is left out; or with all of it, which is tried again. `damage` is the code of a DatabaseDamaged. */
export type IndexTrouble =
  | { readonly messageId: string; readonly why: string }
  | { readonly why: string | null; readonly damage?: string }

export interface Indexing {
  stop(): Promise<void>
}

type Prepared = Omit<Unindexed, 'texts'> & { readonly words: SearchWords }

/**
 * Puts new messages into the search index and merges what it consists of, behind the writes that bring them: in batches, each
 * a transaction of `indexMs` of work, and it rests after each as long as it took, so that mail goes first. What was
 * put in is crossed off in the same transaction, so a crash or a deletion at any moment is met rightly.
 * @param told called with each message that can't be indexed, once; and with what hinders all of it, at its begin and end (null)
 * @param triesAgain what was left out before
 */
export function followIndex(
  db: Followed,
  clock: Pick<Clock, 'monotonicMs'>,
  told: (trouble: IndexTrouble) => void,
  triesAgain = true,
): Indexing {
  const stopping = new AbortController()
  const { signal } = stopping
  /** Read from the database and not yet written. */
  let prepared: Prepared[] = []
  /** Whether those are all that there was, and when it was read. */
  let isAll = false
  let readAtMs = Number.NEGATIVE_INFINITY
  /** So many are taken one by one: one of them failed. */
  let alone = 0
  let hindrance: string | undefined
  const isMerged = dialectOf(db.read) === 'sqlite'

  async function follow(): Promise<void> {
    let isNew = triesAgain
    let doneAt: number | undefined
    while (!signal.aborted) {
      const version = db.version()
      try {
        if (isNew) await db.write(retryPassedOver)
        isNew = false
        if (version === undefined || version !== doneAt) await work()
        doneAt = version
        if (hindrance !== undefined) told({ why: null })
        hindrance = undefined
      } catch (error) {
        prepared = []
        // That is told by who writes.
        if (error instanceof StorageUnreachable) {
          await rest(postgresAgainMs)
          continue
        }
        const damage = DatabaseDamaged.of(error)?.code
        if (hindrance === undefined) told({ why: String(error), ...(damage !== undefined && { damage }) })
        hindrance = String(error)
      }
      await rest(indexPollMs)
    }
  }

  async function work(): Promise<void> {
    readAtMs = Number.NEGATIVE_INFINITY
    for (let isMore = true; isMore && !signal.aborted; ) {
      // What comes one by one is gathered: each batch is a segment of the index, which is merged again and again.
      const waitMs = prepared.length > 0 || !isAll ? 0 : readAtMs + indexPollMs - clock.monotonicMs()
      const hasIndexed = waitMs <= 0 && (await thenRest(indexSome))
      const hasMerged = isMerged && !signal.aborted && (await thenRest(() => db.write(mergeIndex))) === true
      // What was deleted leaves the file in the quiet.
      const isQuiet = waitMs <= 0 && !hasIndexed && !hasMerged && !signal.aborted
      const hasFreed = isQuiet && (await thenRest(async () => db.freeSome?.() ?? false))
      isMore = waitMs > 0 || hasIndexed || hasMerged || hasFreed
      if (waitMs > 0 && !hasMerged) await rest(waitMs)
    }
  }

  async function indexSome(): Promise<boolean> {
    if (prepared.length === 0) await prepare()
    if (prepared.length === 0) return false
    const batch = alone > 0 ? prepared.slice(0, 1) : prepared
    try {
      const count = await db.write(write => putBatch(write, batch, clock, db.isWanted))
      if (count === undefined) {
        prepared = []
        return false
      }
      prepared = prepared.slice(count)
    } catch (error) {
      // No message is to blame for a disk or a server that fails.
      if (isStorageFault(error)) throw error
      // Which one it is shows when each is done alone.
      if (batch.length > 1) alone = batch.length
      else await leaveOut(batch[0]!, error)
      return true
    }
    if (alone > 0) alone--
    return true
  }

  async function prepare(): Promise<void> {
    readAtMs = clock.monotonicMs()
    const found = await listUnindexed(db.read, { count: indexBatch, bytes: indexBatchBytes })
    isAll = found.isAll
    for (const { texts, ...row } of found.rows) {
      try {
        prepared.push({ ...row, words: searchWords(texts()) })
      } catch (error) {
        await leaveOut(row, error)
      }
    }
  }

  async function leaveOut(message: Omit<Unindexed, 'texts'>, error: unknown): Promise<void> {
    const { id: messageId } = message
    prepared = prepared.filter(({ id }) => id !== messageId)
    const isLeftOut = await db.write(async write => {
      await passOver(write, message)
      return true
    })
    if (isLeftOut) told({ messageId, why: String(error) })
  }

  async function thenRest<T>(step: () => Promise<T>): Promise<T> {
    const began = clock.monotonicMs()
    const value = await step()
    await rest(clock.monotonicMs() - began)
    return value
  }

  async function rest(ms: number): Promise<void> {
    // It ends early when all of this is stopped.
    await pause(Math.max(1, ms), undefined, { signal, ref: false }).catch(() => {})
  }

  const following = follow()
  return {
    async stop() {
      stopping.abort()
      await following
    },
  }
}

/** Gives how many of them were done: as many as fit into the time of one transaction, and one while mail waits for it. */
async function putBatch(
  db: WriteDb,
  batch: readonly Prepared[],
  clock: Pick<Clock, 'monotonicMs'>,
  isWanted: () => boolean = () => false,
): Promise<number> {
  const end = clock.monotonicMs() + indexMs
  const wanted = await stillUnindexed(
    db,
    batch.map(({ id }) => id),
  )
  const done: string[] = []
  // To a server few statements go, each of which takes several.
  const atOnce = dialectOf(db) === 'postgres' ? indexedAtOnce : 1
  for (let at = 0; at < batch.length; at += atOnce) {
    if (done.length > 0 && (isWanted() || clock.monotonicMs() > end)) break
    const some = batch.slice(at, at + atOnce)
    await putIntoIndex(
      db,
      some.filter(({ id }) => wanted.has(id)),
    )
    done.push(...some.map(({ id }) => id))
  }
  await dropUnindexed(db, done)
  return done.length
}
