import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import { DataDirectoryBusy } from '../dialect/lock.ts'

/** The first half of the lock of each node; the other is made of its name. */
export const nodeClass = 0x6e6f6465

/** A session with a server: no other ever has both of these. */
export interface Session {
  /** Its process there. */
  readonly pid: number
  /** Seconds since 1970 in the server's own digits. */
  readonly since: string
}

/** SQL of the second one, where pg_stat_activity is asked. */
const since = 'extract(epoch from "backend_start")::text'

/** The sessions in which this process took the lock of its node. It gave up all but the newest, of which the server may not know yet that they are over. */
export class OwnSessions {
  readonly #all: Session[] = []

  add(session: Session): void {
    this.#all.push(session)
    if (this.#all.length > limits.nodeSessionsKept) this.#all.shift()
  }

  has({ pid, since }: Session): boolean {
    return this.#all.some(one => one.pid === pid && one.since === since)
  }
}

/** The session that takes a name. */
export interface NameSession {
  query(text: string, values: readonly unknown[]): Promise<{ readonly rows: readonly object[] }>
  /** Has the server end another session; gives why it does not, where this user may not have it do that. */
  endOther(session: Session): Promise<Error | undefined>
  release(): Promise<void>
}

/** Whose name is taken, and how. */
export interface NameParts {
  /** `nodeName`. */
  readonly node: string
  readonly own: OwnSessions
  readonly clock: Clock
  /** Told in a sentence what the operator should give it a right for. */
  warn(sentence: string): void
}

/** What the session that asks is to others. */
export const whoAmI = `select "pid", ${since} as "since" from pg_stat_activity where "pid" = pg_backend_pid()`
export const endSession = `select pg_terminate_backend("pid") from pg_stat_activity where "pid" = $1 and ${since} = $2`

/** Taken for itself, which shows that nobody has it, and kept in common with what is left of the own sessions of before. */
const takeNameAlone = `select case when pg_try_advisory_lock($1, hashtext($2)) then
  case when pg_try_advisory_lock_shared($1, hashtext($2)) then pg_advisory_unlock($1, hashtext($2)) end
  else false end as "isTaken"`
const takeNameBeside = 'select pg_try_advisory_lock_shared($1, hashtext($2)) as "isTaken"'
const leaveName = 'select pg_advisory_unlock_shared($1, hashtext($2))'

/** What is not this user's to see is null. */
interface Holder extends Session {
  readonly address: string | null
  readonly role: string | null
  /** For how long it has asked nothing; null while it waits for an answer. */
  readonly silentMs: number | null
  readonly isHidden: boolean
  /** Who asks. */
  readonly user: string
}

/** The number of a lock is an unsigned one in this view; a hash has a sign. */
const whoHoldsName = `select "held"."pid", ${since} as "since", host("client_addr") as "address", quote_ident("usename") as "role",
    case when "state" = 'idle' then extract(epoch from clock_timestamp() - "state_change")::float8 * 1000 end as "silentMs",
    "state" is null as "isHidden", quote_ident(current_user) as "user"
  from "pg_locks" as "held"
  join "pg_database" on "pg_database"."oid" = "held"."database" and "pg_database"."datname" = current_database()
  left join "pg_stat_activity" as "one" on "one"."pid" = "held"."pid"
  where "held"."locktype" = 'advisory' and "held"."classid"::bigint = $1 and "held"."objsubid" = 2 and "held"."granted"
    and "held"."objid"::bigint = hashtext($2)::bigint & 4294967295 and "held"."pid" != pg_backend_pid()
  order by "held"."pid"`

/**
 * Takes the name of a node. Sessions that hold it and are over are ended: those that this process has given up, beside which it is taken in
 * any case; and one of another process that has asked nothing for so long that its daemon, if it lived, would not rely on it any more.
 * @throws DataDirectoryBusy where another holds it for longer than is waited, StorageUnreachable
 */
export async function takeName(session: NameSession, { node, own, clock, warn }: NameParts): Promise<void> {
  const name = [nodeClass, node]
  const ask = async (text: string) => (await session.query(text, name)).rows
  const isTaken = async (text: string) =>
    (((await ask(text))[0] ?? {}) as { isTaken?: boolean }).isTaken === true
  const listHolders = () => ask(whoHoldsName) as Promise<readonly Holder[]>
  const isStranger = (holder: Holder) => !own.has(holder)
  /** Those that were to be ended, and why they could not. */
  const ended = new Map<number, Error | undefined>()
  const begun = clock.monotonicMs()
  for (;;) {
    if (await isTaken(takeNameAlone)) return
    const holders = await listHolders()
    for (const holder of holders) {
      if (ended.has(holder.pid) || (isStranger(holder) && !isSilent(holder))) continue
      const error = await session.endOther(holder)
      ended.set(holder.pid, error)
      if (error && !isStranger(holder)) {
        warn(
          `a former session of this node with the server of the database (its process ${holder.pid}) can not be ended: ${error.message}. This one goes on beside it; ${rightFor(holder, error)}`,
        )
      }
    }
    const strangers = holders.filter(isStranger)
    // One that lives is told, before what is left of its own sessions of before.
    const stranger = strangers.find(one => !isSilent(one)) ?? strangers[0]
    if (holders.length > 0 && !stranger && (await isTaken(takeNameBeside))) {
      // Another may have come in between.
      if (!(await listHolders()).some(isStranger)) return
      await ask(leaveName)
    }
    if (clock.monotonicMs() - begun >= limits.postgresLockMs) {
      await session.release()
      throw stranger
        ? new DataDirectoryBusy(toldOfHolder(node, stranger, ended))
        : new StorageUnreachable(new Error('a former session of this node does not end there'))
    }
    await pause(limits.nodeNameAgainMs)
  }
}

const isSilent = ({ silentMs }: Holder) => silentMs !== null && silentMs >= limits.nodeSureMs

/** What lets this user end that session. */
function rightFor({ role, user }: Holder, { message }: Error): string {
  return message.includes('function')
    ? `grant execute on function pg_terminate_backend(integer, bigint) to ${user}`
    : `grant ${role === null || role === user ? 'pg_signal_backend' : role} to ${user}`
}

function toldOfHolder(node: string, holder: Holder, ended: ReadonlyMap<number, Error | undefined>): string {
  const { pid, address, role, silentMs, isHidden, user } = holder
  const which = `process ${pid} of the server, from ${address ?? 'its own machine'}`
  const end = `select pg_terminate_backend(${pid})`
  if (isHidden) {
    return `a session of the role ${role} (process ${pid} of the server) has the name of the node ${node}, and ${user} may not see whether a mailboxd lives that asks over it: if none does, end it there (${end}); grant pg_read_all_stats to ${user}`
  }
  if (!isSilent(holder)) {
    return `another mailboxd runs on this database as the node ${node}: its data_dir was copied. Each node has a data_dir of its own; take the file "node" out of this one if it is the copy (that one asks over ${which})`
  }
  const seconds = Math.floor(silentMs! / 1000)
  const error = ended.get(pid)
  return `a mailboxd that ran as the node ${node} is gone, and its session is still there (${which}, which has asked nothing for ${seconds} seconds): ${
    error
      ? `it can not be ended from here (${error.message}): end it there (${end}), or ${rightFor(holder, error)}`
      : `it was to be ended and does not end: end that process on the machine of the server (kill ${pid}), and if that does not help start the server again`
  }`
}
