import { setTimeout as pause } from 'node:timers/promises'
import { ClockApart, postgresAgainMs, StorageUnreachable } from '../../base/faults.ts'
import {
  type Clock,
  type Moment,
  momentOf,
  msSince,
  nodeBeatMs,
  nodeClockMs,
  nodeSureMs,
  stepSince,
} from '../../base/time.ts'
import { DataDirectoryBusy, nodeClass } from '../dialect/lock.ts'
import { hasCode, isOutage } from './outage.ts'
import type { Hold, Reaching } from './pool.ts'
import { connectAlone, postgresConnectMs, postgresGoodbyeMs } from './session.ts'
import { askTime, requireSameTime } from './state.ts'

/** How long a start waits until the server knows that the former daemon has ended. */
const postgresLockMs = 12_000

/** The number of a lock that all programs know by the letters of a name. */
const numberOf = (letters: string) => Number.parseInt(Buffer.from(letters).toString('hex').slice(0, 12), 16)
/** Nodes share it; a program that must have the database alone holds it against them. */
const databaseNumber = numberOf('mailbox')
/** A node that starts holds it until it has done what is done once: the schema, the key, the first rows. */
const startNumber = numberOf('starts')

/** What sessions with locks are called in pg_stat_activity, before the name of their node. */
const lockName = 'mailboxd lock'

export interface NodeHold extends Hold {
  /** Resolves if it cannot be had again: another process has it, or the database is another one now. */
  readonly failed: Promise<Error>
  /** This node has started, so others may. */
  letOthersStart(): Promise<void>
  release(): Promise<void>
}

/** How a store reaches its server, and what a daemon holds there. */
export type StoreOutage = Pick<Reaching, 'failed'> & { readonly hold?: NodeHold }

export interface HoldParts {
  /** As of `openStore`. */
  readonly url: string
  /** `nodeName`. */
  readonly node: string
  readonly clock: Clock
  /**
   * Asked before a lock that was lost is relied on again: others may have changed the database.
   * @throws what keeps this process from working on it
   */
  requireSame(url: string): Promise<void>
}

/**
 * Takes a database for one process alone: no daemon runs on it meanwhile, and none starts.
 * @param url as of `openStore`
 * @returns lets daemons start again
 * @throws DataDirectoryBusy if a daemon runs on it, StorageUnreachable
 */
export async function lockServer(url: string): Promise<() => Promise<void>> {
  const session = await openSession(url, lockName, 0)
  const busy = 'a mailboxd runs on this database; stop all of them first'
  await session.take('select pg_advisory_lock($1)', [databaseNumber], new DataDirectoryBusy(busy))
  return session.release
}

/**
 * Holds the locks of a node until it is released: one that says that it lives, by its name, and one that nobody has the database
 * alone. The server ends the session of a process that stands still for `nodeSureMs`, or whose machine is gone, and the locks
 * with it. If the session is lost, or the clocks differ, the locks are taken again.
 * @throws DataDirectoryBusy, StorageUnreachable
 */
export async function holdNode(parts: HoldParts): Promise<NodeHold> {
  const { url, clock, requireSame } = parts
  const stopping = new AbortController()
  const failed = Promise.withResolvers<Error>()
  const listeners: ((error: StorageUnreachable) => void)[] = []
  let session = await takeLocks(parts, 'starting')
  let outage: StorageUnreachable | undefined
  /** When the session was last asked and answered. */
  let sureSince: Moment = momentOf(clock)
  let asking: Promise<void> | undefined

  const rest = (ms: number) => pause(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})

  /** Asks the session once for all who want to know. */
  function ask(): Promise<void> {
    asking ??= askNow(session).finally(() => {
      asking = undefined
    })
    return asking
  }

  async function askNow(asked: Session): Promise<void> {
    const began = momentOf(clock)
    try {
      await asked.requireTime(clock)
      sureSince = began
    } catch (error) {
      lose(asked, error as Error)
    }
  }

  function lose(which: Session, error: Error): void {
    if (which !== session || outage || stopping.signal.aborted) return
    outage = error instanceof StorageUnreachable ? error : new StorageUnreachable(error)
    void which.release()
    for (const listener of listeners) listener(outage)
    void takeAgain()
  }

  async function takeAgain(): Promise<void> {
    while (!stopping.signal.aborted) {
      let next: Session | undefined
      try {
        next = await takeLocks(parts, 'working')
        await requireSame(url)
        await next.letOthersStart()
        if (stopping.signal.aborted) return next.release()
        sureSince = momentOf(clock)
        outage = undefined
        session = next
        return follow(next)
      } catch (error) {
        void next?.release()
        if (!(error instanceof StorageUnreachable)) return failed.resolve(error as Error)
        outage = error
      }
      await rest(postgresAgainMs)
    }
  }

  function follow(followed: Session): void {
    void followed.lost.then(error => lose(followed, error))
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await rest(nodeBeatMs)
      if (!outage && !stopping.signal.aborted) await ask()
    }
  }

  const isSet = () => Math.abs(stepSince(clock, sureSince)) > nodeClockMs

  follow(session)
  void watch()
  return {
    failed: failed.promise,
    async requireHeld() {
      // A process that stood still may have lost it, and not know; a clock that was set is compared first.
      if (!outage && (isSet() || msSince(clock, sureSince) >= nodeSureMs)) await ask()
      if (outage) throw outage
    },
    requireSteady() {
      if (outage) throw outage
      if (isSet()) throw new StorageUnreachable(new ClockApart(-stepSince(clock, sureSince)))
    },
    onLost: listener => void listeners.push(listener),
    letOthersStart: () => session.letOthersStart(),
    async release() {
      stopping.abort()
      await session.release()
    },
  }
}

/** @param state others wait for a node that starts; one that works and lost its locks goes on beside others like it */
async function takeLocks({ url, node, clock }: HoldParts, state: 'starting' | 'working') {
  const session = await openSession(url, `${lockName} ${node}`, nodeSureMs)
  await session.requireTime(clock)
  await session.take(
    'select pg_advisory_lock_shared($1)',
    [databaseNumber],
    new DataDirectoryBusy(
      'another process has this database for itself: an older mailboxd, or mailboxctl at its maintenance',
    ),
  )
  await session.take(
    'select pg_advisory_lock($1, hashtext($2))',
    [nodeClass, node],
    new DataDirectoryBusy(
      `another mailboxd runs on this database as the node ${node}: its data_dir was copied. Each node has a data_dir of its own; take the file "node" out of this one if it is the copy. (If that mailboxd is this one, and its machine has just failed, the server forgets it within ${nodeSureMs / 1000} seconds: start it again)`,
    ),
  )
  const isStarting = state === 'starting'
  const why = 'another mailboxd is starting on this database, and may be bringing it up to date'
  await session.take(
    `select pg_advisory_lock${isStarting ? '' : '_shared'}($1)`,
    [startNumber],
    isStarting
      ? new DataDirectoryBusy(`${why}; start this one when it is through`)
      : new StorageUnreachable(new Error(why)),
  )
  const unlock = `select pg_advisory_unlock${isStarting ? '' : '_shared'}($1)`
  return { ...session, letOthersStart: async () => void (await session.query(unlock, [startNumber])) }
}

type Session = Awaited<ReturnType<typeof takeLocks>>

/**
 * @param name of the session in pg_stat_activity
 * @param idleMs after how long without a question the server ends it; 0: never
 */
async function openSession(url: string, name: string, idleMs: number) {
  const client = await connectAlone(url, name, {
    lock_timeout: String(postgresLockMs),
    statement_timeout: '0',
    idle_session_timeout: String(idleMs),
  })
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve)
    client.once('end', () => resolve(new Error('the server of the database ended the connection')))
  })
  async function query(text: string, values: readonly unknown[]) {
    // pg has a bound for one query, which its types do not know: longer than a lock is waited for.
    const bounded = { query_timeout: postgresLockMs + postgresConnectMs }
    try {
      return await client.query({ text, values: [...values], ...bounded })
    } catch (error) {
      void client.end().catch(() => {})
      throw isOutage(error) ? new StorageUnreachable(error) : error
    }
  }
  return {
    lost,
    query,
    /** @param busy what is thrown if another session holds it */
    async take(text: string, values: readonly unknown[], busy: Error) {
      try {
        await query(text, values)
      } catch (error) {
        throw hasCode(error, '55P03') ? busy : error
      }
    },
    /** @throws StorageUnreachable if the server does not answer for `nodeSureMs`, or its clock is not ours */
    async requireTime(clock: Clock) {
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        // An answer that came while this process stood still is read before it is judged.
        setImmediate(() => late.reject(new Error('the server of the database does not answer')))
      }, nodeSureMs)
      try {
        const askedMs = clock.monotonicMs()
        const { rows } = await Promise.race([query(askTime, []), late.promise])
        requireSameTime(clock, askedMs, Number(rows[0].clockMs))
      } finally {
        clearTimeout(timer)
      }
    },
    async release() {
      // A server that is not reached does not say goodbye.
      await Promise.race([client.end().catch(() => {}), pause(postgresGoodbyeMs, undefined, { ref: false })])
    },
  }
}
