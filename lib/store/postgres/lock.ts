import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import { DataDirectoryBusy } from '../dialect/lock.ts'
import { isOutage } from './reached.ts'
import { connectTo, createServers, type Servers } from './servers.ts'
import { askTime, requireSameTime } from './state.ts'

/** What everybody who locks a database of mailboxd agrees upon: the letters of a name. */
const numberOf = (letters: string) => Number.parseInt(Buffer.from(letters).toString('hex').slice(0, 12), 16)
/** Nodes share it; who must have the database alone holds it against them. */
const databaseNumber = numberOf('mailbox')
/** Held by who starts, until it is through with what is done once: the schema, the key, the first rows. */
const startNumber = numberOf('starts')
/** The first half of the lock of each node; the other is made of its name. */
export const nodeClass = 0x6e6f6465
/** That of a lock that all nodes share whose program knows the same steps of the schema; the other half is the number of the last one. */
export const schemaClass = 0x73636865

/** What sessions with locks are called in pg_stat_activity. */
const lockName = 'mailboxd lock'

/** A lock on a database of a server. */
export interface ServerLock {
  release(): Promise<void>
}

export interface NodeLock extends ServerLock {
  /** The URL of the server that it is on. */
  readonly url: string
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

export interface NodeLockParts {
  /** `nodeName`. */
  readonly node: string
  /** A word of this process alone: what else holds locks in its name is a session of before, of which the server does not know yet that it is over. */
  readonly holder: string
  /** The last step of the schema that this program knows, which others see as long as this one lives. */
  readonly newestStep: number
  readonly clock: Clock
  /** False where it held the lock already, and lost it: others in that case go on beside it, who starts waits. */
  readonly isStarting: boolean
}

/**
 * Takes a database for one process alone: no daemon runs on it meanwhile, and none starts.
 * @param url as of `openStore`
 * @throws DataDirectoryBusy when a daemon holds it, StorageUnreachable
 */
export async function lockServer(url: string): Promise<ServerLock> {
  const session = await connect(createServers(url))
  await session.take(
    'select pg_advisory_lock($1)',
    [databaseNumber],
    'a mailboxd runs on this database; stop all of them first',
  )
  return session
}

/**
 * Takes what a daemon holds as long as it lives, and waits a moment for one who has just ended: beside other nodes, and no second time
 * under the same name. Others do not start meanwhile. By a wrong clock it takes nothing.
 * @throws DataDirectoryBusy, StorageUnreachable
 */
export async function lockNode(
  servers: Servers,
  { node, holder, newestStep, clock, isStarting }: NodeLockParts,
): Promise<NodeLock> {
  const name = `${lockName} ${holder}`
  const session = await connect(servers, name)
  const requireThere = () => session.requireTime(clock)
  await requireThere()
  await session.query(
    'select pg_terminate_backend("pid") from pg_stat_activity where "application_name" = $1 and "pid" <> pg_backend_pid()',
    [name],
  )
  await session.take(
    'select pg_advisory_lock_shared($1)',
    [databaseNumber],
    'another process has this database for itself: an older mailboxd, or mailboxctl at its maintenance',
  )
  await session.take(
    'select pg_advisory_lock($1, hashtext($2))',
    [nodeClass, node],
    `another mailboxd runs on this database as the node ${node}: its data_dir was copied. Each node has a data_dir of its own; take the file "node" out of this one if it is the copy`,
  )
  await session.query('select pg_advisory_lock_shared($1, $2)', [schemaClass, newestStep])
  const shared = isStarting ? '' : '_shared'
  await session.take(
    `select pg_advisory_lock${shared}($1)`,
    [startNumber],
    'another mailboxd is starting on this database, and may be bringing it up to date; start this one when it is through',
  )
  return {
    ...session,
    requireThere,
    letOthersStart: async () =>
      void (await session.query(`select pg_advisory_unlock${shared}($1)`, [startNumber])),
  }
}

async function connect(servers: Servers, name = lockName) {
  const { client, url } = await connectTo(
    servers,
    { application_name: name, lock_timeout: limits.postgresLockMs },
    // So long after its machine is gone the server lets go of what it held.
    '-c tcp_keepalives_idle=10 -c tcp_keepalives_interval=5 -c tcp_keepalives_count=3',
  )
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve)
    client.once('end', () => resolve(new Error('the server of the database ended the connection')))
  })
  const query = (text: string, values: readonly unknown[]) =>
    client.query(text, [...values]).catch(async error => {
      void client.end().catch(() => {})
      throw isOutage(error) ? new StorageUnreachable(error) : error
    })
  return {
    url,
    lost,
    query,
    /** @param busy what is said when another holds it */
    async take(text: string, values: readonly unknown[], busy: string) {
      try {
        await query(text, values)
      } catch (error) {
        const isHeld = error instanceof Error && 'code' in error && error.code === lockNotAvailable
        throw isHeld ? new DataDirectoryBusy(busy) : error
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
