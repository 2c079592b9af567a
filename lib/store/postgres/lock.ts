import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import type { Held } from '../../base/held-server.ts'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import { DataDirectoryBusy } from '../dialect/lock.ts'
import { isOutage } from './reached.ts'
import { connectTo, createServers, type Servers, statementTimeout } from './servers.ts'
import { askTime, requireSameTime } from './state.ts'
import { endSession, type NameParts, type Session, takeName, whoAmI } from './take-name.ts'
import type { Judge } from './timeline.ts'

/** What everybody who locks a database of mailboxd agrees upon: the letters of a name. */
const numberOf = (letters: string) => Number.parseInt(Buffer.from(letters).toString('hex').slice(0, 12), 16)
/** Nodes share it; who must have the database alone holds it against them. */
const databaseNumber = numberOf('mailbox')
/** Held by who starts, until it is through with what is done once: the schema, the key, the first rows. */
const startNumber = numberOf('starts')
/** That of a lock that all nodes share whose program knows the same steps of the schema; the other half is the number of the last one. */
export const schemaClass = 0x73636865

/** What sessions with locks are called in pg_stat_activity, before the name of their node. */
const lockName = 'mailboxd lock'

/** A lock on a database of a server. */
export interface ServerLock {
  release(): Promise<void>
}

export interface NodeLock extends ServerLock {
  /** What it is on. */
  readonly held: Held
  /** Resolves when the connection that holds it has ended: from then on others may have it. */
  readonly lost: Promise<Error>
  /**
   * Resolves when the server has answered over that connection.
   * @throws StorageUnreachable when it does not for `limits.nodeSureMs`, or its clock is not ours
   */
  requireThere(): Promise<void>
  /** This one has started, or has seen what became of the database meanwhile. */
  letOthersStart(): Promise<void>
}

export interface NodeLockParts extends NameParts {
  /** The last step of the schema that this program knows, which others see as long as this one lives. */
  readonly newestStep: number
  /** False where it held the lock already, and lost it: others in that case go on beside it, who starts waits. */
  readonly isStarting: boolean
}

/**
 * Takes a database for one process alone: no daemon runs on it meanwhile, and none starts.
 * @param url as of `openStore`
 * @param judge of its servers
 * @throws DataDirectoryBusy when a daemon holds it, StorageUnreachable
 */
export async function lockServer(url: string, judge: Judge): Promise<ServerLock> {
  const session = await connect(createServers(url, judge), lockName)
  await session.take(
    'select pg_advisory_lock($1)',
    [databaseNumber],
    new DataDirectoryBusy('a mailboxd runs on this database; stop all of them first'),
  )
  return session
}

/**
 * Takes what a daemon holds as long as it lives, and waits a moment for one who has just ended: beside other nodes, and no second time
 * under the same name, but beside what is left of its own former sessions. Others do not start meanwhile. By a wrong clock it takes nothing.
 * @throws DataDirectoryBusy, StorageUnreachable
 */
export async function lockNode(
  servers: Servers,
  { node, own, newestStep, clock, isStarting, warn }: NodeLockParts,
): Promise<NodeLock> {
  const session = await connect(servers, `${lockName} ${node}`)
  const requireThere = () => session.requireTime(clock)
  await requireThere()
  own.add(await session.whoAmI())
  await session.take(
    'select pg_advisory_lock_shared($1)',
    [databaseNumber],
    new DataDirectoryBusy(
      'another process has this database for itself: an older mailboxd, or mailboxctl at its maintenance',
    ),
  )
  await takeName(session, { node, own, clock, warn })
  await session.query('select pg_advisory_lock_shared($1, $2)', [schemaClass, newestStep])
  const shared = isStarting ? '' : '_shared'
  const isAnotherStarting = 'another mailboxd is starting on this database, and may be bringing it up to date'
  await session.take(
    `select pg_advisory_lock${shared}($1)`,
    [startNumber],
    isStarting
      ? new DataDirectoryBusy(`${isAnotherStarting}; start this one when it is through`)
      : new StorageUnreachable(new Error(isAnotherStarting)),
  )
  return {
    ...session,
    requireThere,
    letOthersStart: async () =>
      void (await session.query(`select pg_advisory_unlock${shared}($1)`, [startNumber])),
  }
}

/** @param name of the session in pg_stat_activity */
async function connect(servers: Servers, name: string) {
  const { client, url, timeline } = await connectTo(
    servers,
    { application_name: name, lock_timeout: limits.postgresLockMs, statement_timeout: statementTimeout(0) },
    // So long after its machine is gone the server lets go of what it held.
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3',
  )
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve)
    client.once('end', () => resolve(new Error('the server of the database ended the connection')))
  })
  // pg has a bound for one query, of which its types know nothing: longer than a lock is waited for.
  const bounded = { query_timeout: limits.postgresLockMs + limits.postgresConnectMs }
  const query = (text: string, values: readonly unknown[]) =>
    client.query({ text, values: [...values], ...bounded }).catch(broken)
  /** What failed in it may have come from a server that is gone. */
  const broken = (error: unknown): never => {
    void client.end().catch(() => {})
    throw isOutage(error) ? new StorageUnreachable(error) : error
  }
  return {
    held: { url, timeline },
    lost,
    query,
    /** What this session is to others. */
    whoAmI: async () => (await query(whoAmI, [])).rows[0] as Session,
    /** @param busy what is thrown when another holds it */
    async take(text: string, values: readonly unknown[], busy: Error) {
      try {
        await query(text, values)
      } catch (error) {
        throw hasCode(error, lockNotAvailable) ? busy : error
      }
    },
    /** Has the server end another session; gives why it does not, where this user may not have it do that. */
    async endOther({ pid, since }: Session): Promise<Error | undefined> {
      try {
        await client.query({ text: endSession, values: [pid, since], ...bounded })
        return undefined
      } catch (error) {
        return hasCode(error, forbidden) ? (error as Error) : broken(error)
      }
    },
    /** The answer has the time, by which what this process dates and finds due is right for other nodes, too. */
    async requireTime(clock: Clock) {
      const late = Promise.withResolvers<never>()
      const timer = setTimeout(() => {
        // What has come while this process stood still is read before it is judged.
        setImmediate(() => late.reject(new Error('the server of the database does not answer')))
      }, limits.nodeSureMs)
      try {
        const askedMs = clock.monotonicMs()
        const { rows } = await Promise.race([query(askTime, []), late.promise])
        requireSameTime(clock, askedMs, Number(rows[0].clockMs))
      } finally {
        clearTimeout(timer)
      }
    },
    async release() {
      const ended = client.end().catch(() => {})
      // A server that is not reached does not say goodbye.
      await Promise.race([ended, pause(limits.postgresGoodbyeMs, undefined, { ref: false })])
    },
  }
}

const lockNotAvailable = '55P03'
const forbidden = '42501'

const hasCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code
