import type { Duplex } from 'node:stream'
import type { PostgresPool as KyselyPool } from 'kysely'
import pg from 'pg'
import type { Held } from '../../base/held-server.ts'
import { inTime } from '../../base/in-time.ts'
import { limits } from '../../base/limits.ts'
import { StorageContended, StorageUnreachable } from '../../base/storage-fault.ts'
import type { Send } from '../transactions/connection.ts'
import {
  createServers,
  type Met,
  requirePrimary,
  Standby,
  toldOf,
  toldOfEach,
  Unreplicated,
} from './servers.ts'
import { type Judge, judgeSame, OldPrimary, OtherServer } from './timeline.ts'

/** What a process must hold while it asks a server for anything. */
export interface Hold {
  /**
   * The server on which it is held.
   * @throws StorageUnreachable while it is held nowhere
   */
  server(): Promise<Held>
  /**
   * Asked before each statement: one that has begun dates what it writes, too.
   * @throws StorageUnreachable where the clock of this machine was set since it agreed with the server's
   */
  requireSteady(): void
  /** Calls `listener` each time that it is not held any more; gives the function that ends it. */
  onLost(listener: (error: StorageUnreachable) => void): () => void
}

export interface Reaching {
  readonly url: string
  readonly options: Omit<pg.PoolConfig, 'connectionString'>
  /** What must be held while anything is asked; then the server is asked on which it is. */
  readonly hold?: Hold
  /** Asked of each server that is connected to without a hold; everyone passes without one. */
  readonly judge?: Judge
  /** Called with each failure that is an outage's. */
  readonly failed?: (error: StorageUnreachable) => void
}

/**
 * A pool of connections to the first of the servers of `url` that takes writes, of which an outage is told by one name, and what others keep
 * it from by another. A connection that met an outage is given up: nobody knows what stands in it.
 */
export function reachedOver({ url, options, hold, judge, failed = () => {} }: Reaching): KyselyPool {
  const servers = createServers(url, judge)
  const open = new Set<pg.Client>()
  const waiting = new Set<(error: Error) => void>()
  let pool = openPool(servers.url, servers.judge, options, open)
  let held: Held | undefined
  hold?.onLost(error => {
    // What comes back over these is not waited for: its machine may be gone, or be another by now.
    for (const client of open) cutOff(client)
    for (const reject of waiting) reject(error)
    change(pool.options.connectionString!, servers.judge)
  })

  function change(to: string, judge: Judge): void {
    const before = pool
    pool = openPool(to, judge, options, open)
    void before.end().catch(() => {})
  }

  /** Whoever is to be asked now. */
  async function current(): Promise<pg.Pool> {
    if (hold) {
      const now = await hold.server()
      if (held !== now) change(now.url, judgeSame(now.timeline))
      held = now
    } else if (pool.options.connectionString !== servers.url) change(servers.url, servers.judge)
    return pool
  }

  /** Whoever waits for one when the hold is lost is told at once. */
  function connectTo(asked: pg.Pool): Promise<pg.PoolClient> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const lost = (error: Error) => {
        isOver = true
        reject(error)
      }
      waiting.add(lost)
      asked
        .connect()
        .then(client => (isOver ? client.release(true) : resolve(client)), reject)
        .finally(() => waiting.delete(lost))
    })
  }

  async function take(): Promise<pg.PoolClient> {
    const met: Met[] = []
    for (;;) {
      const asked = await current()
      try {
        return await connectTo(asked)
      } catch (error) {
        if (error instanceof StorageUnreachable) throw error
        // All of its connections are busy, which another server would not mend.
        if (error instanceof Error && error.message.startsWith('timeout exceeded')) throw error
        const url = asked.options.connectionString!
        servers.failed(url)
        met.push({ url, error: error as Error })
        if (hold || met.length >= servers.all.length) throw new StorageUnreachable(toldOfEach(met))
      }
    }
  }

  function toOutage(error: unknown): never {
    const outage =
      error instanceof StorageUnreachable ? error : new StorageUnreachable(toldOf(error as Error))
    failed(outage)
    throw outage
  }

  return {
    options: pool.options,
    async connect() {
      const client = await take().catch(toOutage)
      let isBroken = false
      const { stream } = connectionOf(client)
      let isGathering = false
      /** What is asked before the event loop comes round is sent as one. */
      const gather = () => {
        if (isGathering) return
        isGathering = true
        stream.cork()
        process.nextTick(() => {
          isGathering = false
          stream.uncork()
        })
      }
      /** By its name what a statement failed with last. */
      const failures = new Map<string, unknown>()
      const query: Send = async (text, values = [], name) => {
        try {
          hold?.requireSteady()
          gather()
          const answer = await client.query({
            text,
            values: [...values],
            ...(name !== undefined && { name }),
          })
          if (unreplicated.has(client)) throw new Unreplicated()
          return answer
        } catch (met) {
          // One that fails before the server has planned it leaves those without a plan that were sent behind it: they fail for the same.
          const error = (hasCode(met, noPlan) && name !== undefined && failures.get(name)) || met
          if (name !== undefined) failures.set(name, error)
          if (!(error instanceof StorageUnreachable || isOutage(error))) throw StorageContended.of(error)
          isBroken = true
          return toOutage(error)
        }
      }
      const release = () => client.release(isBroken)
      // Nothing here reads by a cursor, the other way to call it.
      return { query: query as never, release }
    },
    async end() {
      const ended = pool.end()
      // Whoever waits for what is asked over these has waited before: a server that hangs keeps no process from its end.
      await inTime(ended, limits.postgresGoodbyeMs, () => {
        for (const client of open) cutOff(client)
      })
    },
  }
}

/**
 * Connections over which a commit was confirmed that no standby has: somebody ended its wait (pg_cancel_backend). The server says so by a
 * warning, in the language of its messages and with a code of no meaning, from the function of this name.
 */
const unreplicated = new WeakSet<pg.ClientBase>()
const waitsForStandby = 'SyncRepWaitForLSN'

/** Ends a connection at once: `end` waits for the answers to what was asked over it. */
function cutOff(client: pg.Client): void {
  connectionOf(client).stream.destroy()
}

/** What pg has beneath a client and does not declare. */
function connectionOf(client: pg.ClientBase) {
  return (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection
}

/** @param open has those that are connected, from before they are asked for anything */
function openPool(
  connectionString: string,
  judge: Judge,
  options: Reaching['options'],
  open: Set<pg.Client>,
): pg.Pool {
  const pool = new pg.Pool({
    ...options,
    connectionString,
    connectionTimeoutMillis: limits.postgresConnectMs,
    keepAlive: true,
    // What needs no answer of what is before it is sent behind it, and not after it.
    pipeline: true,
    async onConnect(client) {
      open.add(client as pg.Client)
      client.once('end', () => open.delete(client as pg.Client))
      client.on('notice', ({ routine }) => {
        if (routine === waitsForStandby) unreplicated.add(client)
      })
      // Whatever others have set for this role: what is missing of a commit is said by a warning.
      const heard = client.query('set client_min_messages = warning')
      await Promise.all([heard, requirePrimary(client, connectionString, judge)])
    },
  })
  // A connection that the server closed is no fault of ours: who asks over it is told, and the pool opens another.
  pool.on('error', () => {})
  pool.on('connect', client => void client.on('error', () => {}))
  return pool
}

/** What the system says of a server that is not reached. */
const systemCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENOENT',
]
/**
 * connection_exception, admin_shutdown and its kin, insufficient_resources (disk_full, too_many_connections), io_error,
 * read_only_sql_transaction: a standby, that this process stood still in a transaction for too long; and of a statement that was prepared,
 * which is ours alone, that it is not there or was there before: behind a pooler the session is another.
 */
const serverCodes = /^(08...|57P0.|53...|58030|25006|25P03|26000|42P05)$/
/** What pg says without a code. */
const sentences =
  /^(Connection terminated|Query read timeout|timeout exceeded|Client (has encountered|was closed))/

/** invalid_sql_statement_name: there is no statement of this name. */
const noPlan = '26000'
const hasCode = (error: unknown, code: string) =>
  error instanceof Error && 'code' in error && error.code === code

/** Whether a failure is that of a server which is gone, or takes no writes. */
export function isOutage(error: unknown): error is Error {
  if (!(error instanceof Error)) return false
  if ([Standby, OldPrimary, OtherServer, Unreplicated].some(outage => error instanceof outage)) return true
  if (!('code' in error) || error.code === undefined) return sentences.test(error.message)
  return systemCodes.includes(String(error.code)) || serverCodes.test(String(error.code))
}
