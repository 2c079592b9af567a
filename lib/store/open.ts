import { DatabaseDamaged, type DiskFailed, SchemaFault } from '../base/faults.ts'
import { type Meter, noMeter } from '../base/metrics.ts'
import { postgresReaders } from '../base/threads.ts'
import type { Clock } from '../base/time.ts'
import type { LogState } from './dialect/checkpointer.ts'
import { startCheckpoints } from './dialect/checkpoints.ts'
import { type Db, type DialectName, isServer, type WriteDb } from './dialect/dialect.ts'
import { type CommitTarget, createGroupCommit } from './dialect/group-commit.ts'
import type { Held } from './dialect/held.ts'
import type { KeptThread } from './dialect/kept-thread.ts'
import { createListeners, type Topic } from './dialect/notices.ts'
import { type FoundDamage, openSqliteFollower, openSqliteReader, openSqliteWriter } from './dialect/sqlite.ts'
import type { Indexing, IndexTrouble } from './indexing.ts'
import { writeLeft } from './last-statements.ts'
import { findStrangeSchema } from './migrations/expected-schema.ts'
import { findSchemaState, migrate, requireCurrentSchema } from './migrations/migrate.ts'
import type { StoreOutage } from './postgres/hold.ts'
import { requireUtf8, toldForbidden } from './postgres/state.ts'
import type { RoomWatch } from './room-watch.ts'
import { optimizeIndex } from './search/full-text.ts'
import { startIndexThread, storeThreadIdleMs } from './start-index-thread.ts'

/** The database. What is read through `read` is committed, and on the disk once `settled` has resolved. */
export interface Store {
  readonly dialect: DialectName
  readonly read: Db
  /**
   * Does `work` in a transaction and resolves after its commit has reached the disk. Nothing but queries on the
   * handle that it is given may be awaited in it, and it may be done more than once (PostgreSQL, on a conflict). Such writes come one
   * after the other, on all nodes: each sees all that the ones before committed.
   */
  write<T>(work: (db: WriteDb) => Promise<T>): Promise<T>
  /**
   * The same for what may be lost with the power, and not with the process, and is decided by conditions of single statements: on
   * PostgreSQL it locks nothing at its beginning. On SQLite it comes before what else waits to be written, and it does not wait for the
   * disk. What it finds in the database has reached the disk all the same.
   */
  writeUnsynced<T>(work: (db: WriteDb) => Promise<T>): Promise<T>
  /**
   * The same for what is decided by what it holds, by constraints, and by conditions of single statements: others may change before its
   * commit whatever else it reads. Several such writes are under way at once.
   * @param held asked when it begins, each time; nothing is read before it is held
   */
  writeHolding<T>(held: () => Held, work: (db: WriteDb) => Promise<T>): Promise<T>
  /**
   * Waits until what this process has committed is kept through a power cut: on SQLite a row is read as soon as it is committed, before
   * its fsync. Undefined where it is kept already. What is shown to a client waits for it.
   * @throws DiskFailed
   */
  settled(): Promise<void> | undefined
  /** Resolves when all events have their places in the stream that were written before the call: on SQLite they have them at once. */
  placed(): Promise<void>
  /**
   * Calls `listener` after a commit whose writes gave notice (`notice`) of `topic`, with what they said it is about: when
   * it has reached the disk, before the promises of its writes are kept. What other processes commit is told from `hearOthers` on, at
   * best. Gives the function that ends it.
   */
  onCommit(topic: Topic, listener: (about: ReadonlySet<string>) => void): () => void
  /** Hears from now on what other processes commit, where the database tells it: PostgreSQL. Gives the function that ends it. */
  hearOthers(): () => Promise<void>
  /**
   * Another number than before when anything was committed since, by this process or another: what was read after the
   * one is good as long as it is the same. Undefined where the database has none.
   */
  version(): number | undefined
  /**
   * Takes out of the files what secrets were overwritten: a changed row leaves its former bytes behind. It takes as long
   * as to copy the database, and nothing else is done meanwhile.
   */
  forgetOverwrittenSecrets(): Promise<void>
  /**
   * Writes the files anew, without anything that was deleted or overwritten, in tables or in the search index. It takes longer than to
   * copy the database, and nothing else is done meanwhile.
   */
  compact(): Promise<void>
  /**
   * Has what was written moved from the write-ahead log into the file in a thread, from now on until it is stopped, and not by
   * the writes; and the log kept short.
   * @param told called with how the log stands whenever something was done about it
   */
  keepLog(bounds: LogBounds, told: (state: LogState) => void): KeptThread
  /** Has it looked whether the disk of a server has room, from now on until it is stopped; that of a file is looked at by itself. */
  watchRoom(): RoomWatch
  /**
   * Has the search index follow what is written, from now on until it is stopped.
   * @param told as of `followIndex`
   */
  keepIndex(told: (trouble: IndexTrouble) => void): Indexing
  /** Resolves when the disk has failed to keep what was committed: from then on no write succeeds, until a restart. */
  readonly failed: Promise<DiskFailed>
  /** Waits for the writes under way, then closes. */
  close(): Promise<void>
}

export interface LogBounds {
  readonly lookMs: number
  /** What the log may come to, and what its file keeps when it begins anew. */
  readonly logBytes: number
  /** How long nothing must have been written until its file is emptied. */
  readonly idleMs: number
}

export interface DamageWatch {
  readonly found: FoundDamage
  /** @throws DatabaseDamaged */
  requireWhole(): void
}

export interface StoreParts {
  /** Is waited for where there is a database of an older schema, with the number of its last step; what it throws leaves all as it was. */
  beforeMigration?(lastStep: number): Promise<void>
  /** Is awaited before tables are made where there are none. If it throws, none are made. */
  beforeFirstTables?(): Promise<void>
  readonly meter?: Meter
  /** How many connections a server is asked over. */
  readonly connections?: number
  /** Of a daemon on a server its name, in which it holds its lock there: beside others it brings the schema up to date as far as they can go on. */
  readonly node?: string
  /** What a server is asked with, and who is told that it can not be; nothing of that with a file. */
  readonly outage?: StoreOutage
  /** Who is told that a file is damaged, and whether any thread has found that: then nothing is written. */
  readonly damage?: DamageWatch
}

/**
 * Opens the database and brings its schema up to date.
 * @param location a postgres:// URL, or the path of the SQLite file (made when missing)
 * @throws SchemaFault when a newer mailboxd made it; or it is to be brought up to date and has triggers or views of somebody else, or nodes of an
 * older program on it that could not go on; or the user of a server may not work on it, or a node would on one that is not in UTF-8
 */
export async function openStore(
  location: string,
  clock: Clock,
  {
    beforeMigration = async () => {},
    beforeFirstTables = async () => {},
    meter = noMeter,
    connections,
    node,
    outage,
    damage = { found: () => {}, requireWhole: () => {} },
  }: StoreParts = {},
): Promise<Store> {
  const store = isServer(location)
    ? (await import('./postgres-store.ts')).postgresStore(location, { clock, meter, connections, outage })
    : sqliteStore(location, clock, meter, damage)
  try {
    if (node !== undefined) await requireUtf8(store.read)
    const { missing, lastStep } = await findSchemaState(store.read, store.dialect)
    // A write waits for its turn and for the disk: who only reads needs neither.
    if (missing.length === 0) return store
    if (lastStep === undefined) await beforeFirstTables()
    else {
      if (store.dialect === 'sqlite') requireOursAlone(location)
      await beforeMigration(lastStep)
    }
    const appliedAt = clock.now().toISOString()
    if (store.dialect === 'sqlite') await store.write(db => migrate(db, 'sqlite', appliedAt))
    else {
      const { upgradeServer } = await import('./upgrade-server.ts')
      await upgradeServer({ url: location, node, missing, appliedAt, outage })
    }
  } catch (error) {
    const told = store.dialect === 'sqlite' ? error : await toldForbidden(store.read, error)
    await store.close()
    throw told
  }
  return store
}

/** The steps would run what stands there, and it what the steps do. @throws SchemaFault */
function requireOursAlone(path: string): void {
  const { found, mayRun } = findStrangeSchema(path)
  if (!mayRun) return
  throw new SchemaFault(
    `the database is not brought up to date, for it has what mailboxd did not make: ${found.join('; ')}. Drop that, or restore a backup`,
  )
}

export interface Reader {
  readonly read: Db
  close(): Promise<void>
}

/**
 * Opens an up-to-date database for another thread or process than the one that writes, to read what is committed.
 * @param location as of `openStore`
 * @param queryMs how long an answer of a server may take
 * @param damaged is called when it finds that a file is damaged
 */
export async function openReader(location: string, queryMs?: number, damaged?: FoundDamage): Promise<Reader> {
  if (isServer(location)) {
    const { openPostgres } = await import('./postgres/pool.ts')
    const { db, close } = openPostgres(location, postgresReaders, {}, queryMs)
    return { read: db, close }
  }
  const { db, close } = openSqliteReader(location, damaged)
  return { read: db, close: async () => close() }
}

/** @throws SchemaFault where a database is not, or not any more, one that this program works on; StorageUnreachable */
export async function requireOurs(location: string): Promise<void> {
  const { read, close } = await openReader(location)
  try {
    await requireCurrentSchema(read)
  } finally {
    await close()
  }
}

function sqliteStore(path: string, clock: Clock, meter: Meter, { found, requireWhole }: DamageWatch): Store {
  const writer = openSqliteWriter(path, found)
  const reader = openSqliteFollower(path, writer, found)
  const listeners = createListeners()
  const wanted = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  const target: CommitTarget = {
    ...writer,
    writeLeft: left => writeLeft(writer.db, left),
    requireWhole,
    waitsForLock: isWaiting => void Atomics.store(wanted, 0, isWaiting ? 1 : 0),
    exec(statement) {
      // A reader that sees an older state would keep the log from being taken into the file.
      if (statement === 'begin immediate') reader.refresh()
      writer.exec(statement)
      if (statement === 'commit') reader.refresh()
    },
  }
  const failed = Promise.withResolvers<DiskFailed>()
  const group = createGroupCommit(target, clock, {
    committed: listeners.tell,
    failed: failed.resolve,
    transacted(writes, tookMs) {
      meter.observe('store_batch_writes', writes)
      meter.observe('store_transaction_seconds', tookMs / 1000)
    },
    synced: tookMs => meter.observe('store_sync_seconds', tookMs / 1000),
  })
  return {
    dialect: 'sqlite',
    read: reader.db,
    version: reader.version,
    write: group.write,
    writeUnsynced: group.writeUnsynced,
    writeHolding: (held, work) => {
      // It is alone; who asks learns by it that the write begins.
      return group.write(db => {
        held()
        return work(db)
      })
    },
    settled: group.settled,
    placed: async () => {},
    onCommit: listeners.on,
    hearOthers: () => async () => {},
    failed: failed.promise,
    keepLog({ lookMs, logBytes, idleMs }, told) {
      writer.leaveCheckpoints(logBytes)
      const bounds = { logBytes, idleLooks: Math.ceil(idleMs / lookMs) }
      // By then it has emptied the log.
      const threadIdleMs = Math.max(storeThreadIdleMs, 2 * idleMs)
      const thread = { path, bounds, lookMs, version: reader.version, idleMs: threadIdleMs }
      return startCheckpoints(thread, state => {
        if (state.lost !== null) group.fail(new Error(state.lost))
        if (state.damage !== undefined) found(new DatabaseDamaged(state.fault ?? '', state.damage))
        told(state)
      })
    },
    watchRoom: () => ({ stop: async () => {} }),
    keepIndex: told =>
      startIndexThread({ location: path, wanted }, reader.version, trouble => {
        const isDamage = 'damage' in trouble && trouble.damage !== undefined
        if (isDamage) found(new DatabaseDamaged(trouble.why ?? '', trouble.damage))
        else told(trouble)
      }),
    async forgetOverwrittenSecrets() {
      await group.idle()
      reader.refresh()
      writer.rewrite()
    },
    async compact() {
      await group.write(optimizeIndex)
      await group.idle()
      reader.refresh()
      writer.rewrite()
    },
    async close() {
      await group.idle()
      reader.close()
      writer.close()
    },
  }
}
