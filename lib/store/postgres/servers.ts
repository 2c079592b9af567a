import pg from 'pg'
import type { Held, Timeline } from '../../base/held-server.ts'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable, unreplicated } from '../../base/storage-fault.ts'
import { type Judge, OldPrimary } from './timeline.ts'

/**
 * The URL of each server that one URL names (`postgres://user@a:5432,b:5432/database`), in their order: node-postgres itself
 * connects to one.
 */
function serversOf(url: string): readonly string[] {
  const [, before, hosts, after] = /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/s.exec(url)!
  return hosts!.split(',').map(host => `${before}${host}${after}`)
}

/**
 * The same URL, in which what node-postgres takes for `verify-full` is called so: of these it says in ten lines on the standard error that
 * it will not always do.
 */
function withPlainMode(url: string): string {
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}

/** Which of the servers of a URL is asked: the first, until it fails, and then the one after it. */
export interface Servers {
  readonly url: string
  /** All of them, in their order. */
  readonly all: readonly string[]
  /** Asked of each that is connected to. */
  readonly judge: Judge
  /** The one with this URL is not reached, or takes no writes. Who says so of one that is not asked any more says nothing new. */
  failed(url: string): void
}

export function createServers(url: string, judge: Judge = () => {}): Servers {
  const all = serversOf(withPlainMode(url))
  let at = 0
  return {
    get url() {
      return all[at]!
    },
    all,
    judge,
    failed(failed) {
      if (failed === all[at]) at = (at + 1) % all.length
    },
  }
}

/** A server that follows another: it answers, and takes no writes. */
export class Standby extends Error {
  override readonly name = 'Standby'

  constructor() {
    super('it is a standby of another server, and takes no writes')
  }
}

/** A commit was confirmed that no standby has: it is lost when one takes over now. */
export class Unreplicated extends Error {
  override readonly name = 'Unreplicated'
  readonly code = unreplicated

  constructor() {
    super(
      'somebody ended a commit while it waited for its standby (pg_cancel_backend), which may not have it',
    )
  }
}

/** Between this process and the server stands a pooler that shares the server's sessions out by transactions, or refuses what a session is set to. */
export class Pooled extends Error {
  override readonly name = 'Pooled'

  constructor(options?: ErrorOptions) {
    super(
      'a pooler (PgBouncer) stands before it, and what mailboxd keeps in a session (locks, LISTEN, prepared statements) is lost behind one: name the server itself in `database`, or let the pooler have pool_mode = session and no refused parameters',
      options,
    )
  }
}

/** What the server says of itself, and of the session that it answers in. */
interface SessionSaid {
  readonly isStandby: boolean
  readonly pid: number
}

// pg has a bound for one query, of which its types know nothing.
const bounded = { query_timeout: limits.postgresConnectMs }
const sessionSaid = 'pg_is_in_recovery() as "isStandby", pg_backend_pid() as "pid"'
const askSession = async (client: pg.ClientBase, before = ''): Promise<SessionSaid> => {
  if (before !== '') await client.query({ text: before, ...bounded })
  const { rows } = await client.query<SessionSaid>({ text: `select ${sessionSaid}`, ...bounded })
  return rows[0]!
}

// The name of a file of the write-ahead log begins with the timeline; a standby has none of its own to write to.
const withTimeline = `select ${sessionSaid},
  case when not pg_is_in_recovery() then substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) end as "hex",
  (select "system_identifier"::text from pg_control_system()) as "system"`

async function askTimeline(
  client: pg.ClientBase,
): Promise<SessionSaid & { readonly timeline?: Timeline | undefined }> {
  try {
    const { rows } = await client.query({ text: withTimeline, ...bounded })
    const { isStandby, pid, hex, system } = rows[0]
    return { isStandby, pid, timeline: hex ? { system, number: Number.parseInt(hex, 16) } : undefined }
  } catch (error) {
    // What only speaks PostgreSQL has no such log, or tells this user nothing of it.
    if (!isRefused(error)) throw error
    return askSession(client)
  }
}

/** syntax_error_or_access_rule_violation and its kin (a function that is not there or forbidden), feature_not_supported */
const isRefused = (error: unknown) =>
  error instanceof Error && 'code' in error && /^(42|0A)/.test(String(error.code))

/**
 * @param url of the server that this is connected to
 * @throws Standby, Pooled, what `judge` throws; an outage where it does not answer for as long as a connection may take
 */
export async function requirePrimary(
  client: pg.ClientBase,
  url: string,
  judge: Judge,
): Promise<Timeline | undefined> {
  const said = await askTimeline(client)
  if (said.isStandby) throw new Standby()
  // The server itself says at the begin of a session which process of its own has it.
  const { processID } = client as unknown as { readonly processID: number | null }
  if (processID !== said.pid) await requireOwnSession(client, url)
  judge(said.timeline)
  return said.timeline
}

/** How often it is looked whether a session has its process for itself: others may have taken the one it had before we could. */
const looks = 5

/** @throws Pooled where another session gets the process that this one has, or this one another than before */
async function requireOwnSession(client: pg.ClientBase, url: string): Promise<void> {
  const other = new pg.Client({ connectionString: url, connectionTimeoutMillis: limits.postgresConnectMs })
  other.on('error', () => {})
  try {
    await other.connect()
    for (let look = 0; look < looks; look++) {
      const before = await askSession(client)
      const theirs = await askSession(other, 'begin')
      const after = theirs.pid === before.pid ? undefined : await askSession(client)
      await other.query({ text: 'rollback', ...bounded })
      if (after?.pid !== before.pid) throw new Pooled()
    }
  } finally {
    void other.end().catch(() => {})
  }
}

/** What mends that a server lets nobody in, or nobody write: by what it says (invalid_password, invalid_catalog_name, invalid_authorization_specification, too_many_connections, read_only_sql_transaction). */
const hints: Readonly<Record<string, string>> = {
  '28P01':
    'look at the password in password_file (of a command: --password-file), or the role is not there (create role … login)',
  '3D000': 'make it (create database), or mend its name at the end of the URL',
  '28000': 'let this user in from this machine (create role … login; pg_hba.conf)',
  '53300':
    'allow more there (max_connections in postgresql.conf; alter role … or alter database … connection limit), or let each node open fewer (postgres.connections)',
  '25006':
    'somebody has it take no writes (default_transaction_read_only of the database, the role or the server, as providers set it when the disk is full): mailboxctl doctor says what turns that off',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'name the server in the URL as its certificate does, or give it one for this name',
  ECONNREFUSED:
    'nothing answers at that address and port: start the server, or mend them (listen_addresses in postgresql.conf)',
  ENOTFOUND: 'there is no such host: mend its name in the URL',
  EAI_AGAIN: 'DNS does not say where that host is: look at the name in the URL, and at /etc/resolv.conf',
}
const unknownAuthority =
  'the certificate of the server is of a CA that is not known here: where it is one of your own, name the file with its certificate in the URL (&sslrootcert=/etc/mailboxd/ca.pem), which the user that mailboxd runs as may read'

/** What is told in the place of what Node says, which tells of options of its own. */
const ofCertificates: Readonly<Record<string, string>> = {
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  DEPTH_ZERO_SELF_SIGNED_CERT:
    'the certificate of the server is signed by itself: copy it here and name the file in the URL (&sslrootcert=/etc/mailboxd/ca.pem), which the user that mailboxd runs as may read',
  CERT_HAS_EXPIRED: 'the certificate of the server, or of its CA, has expired: renew it there',
}

/** What pg says by itself, without a code. */
const withoutPassword = /client password must be a/
const passwordHint =
  'the server asks for a password, and none was given: name a file that has it, password_file (of a command: --password-file)'

/** What pg says when nothing came back for as long as an answer may take. */
const unanswered = /^Query read timeout/
const unansweredHint =
  'no answer came in time, and what was asked may be done all the same: look before you ask it again. mailboxctl doctor says what it waits for (a standby that is gone, a network)'

/** What pg says of a server that answers in the clear alone, also without a code. */
const withoutTls = /does not support SSL connections/
const tlsHint = 'turn it on there (ssl = on in postgresql.conf, with a certificate)'

/** What is told of a server that is not reached: what a pooler refuses by itself is its, and a refusal of the server says what to do. */
export function toldOf(error: Error): Error {
  if (/^unsupported startup parameter|in statement pooling mode$/.test(error.message))
    return new Pooled({ cause: error })
  if (withoutPassword.test(error.message)) return new Error(passwordHint, { cause: error })
  if (withoutTls.test(error.message)) return new Error(`${error.message}: ${tlsHint}`, { cause: error })
  if (unanswered.test(error.message)) return new Error(unansweredHint, { cause: error })
  const code = 'code' in error ? String(error.code) : ''
  const ofCertificate = ofCertificates[code]
  if (ofCertificate !== undefined) return Object.assign(new Error(ofCertificate, { cause: error }), { code })
  const hint = hints[code]
  if (hint !== undefined)
    return Object.assign(new Error(`${error.message || code}: ${hint}`, { cause: error }), { code })
  // What failed at each address of a name has no message of its own.
  if (error.message !== '' || !(error instanceof AggregateError)) return error
  const each = error.errors.map(one => (one as Error).message)
  return Object.assign(new Error(each.join(', '), { cause: error }), { code })
}

/** What a server, by its URL, was met with when it was asked for a connection. */
export interface Met {
  readonly url: string
  readonly error: Error
}

/** What is told where none of the servers can be asked: of several each with its reason; it has the code of the last. */
export function toldOfEach(met: readonly Met[]): Error {
  const told = met.map(({ url, error }) => ({ url, error: toldOf(error) }))
  // It stays so until somebody mends it, where others come back by themselves.
  const lasting = told.find(({ error }) => error instanceof OldPrimary || error instanceof Pooled)
  const last = (lasting ?? told.at(-1)!).error
  if (lasting || told.length === 1) return last
  const each = told.map(({ url, error }) => `${hostOf(url)}: ${error.message}`)
  return Object.assign(new Error(each.join('; '), { cause: last }), 'code' in last && { code: last.code })
}

const hostOf = (url: string) => /^[^:]*:\/\/(?:[^@/?#]*@)?([^/?#]*)/.exec(url)?.[1]

/** What a session is told of how long a statement may take; node-postgres keeps the number 0, by which it takes as long as it takes, to itself. */
export const statementTimeout = (ms: number) => String(ms) as unknown as number

/**
 * Connects to the first of the servers that takes writes.
 * @param settings of the session, `-c name=value`, beside those that the URL has
 * @throws StorageUnreachable when none of them does
 */
export async function connectTo(
  servers: Servers,
  options: Omit<pg.ClientConfig, 'connectionString' | 'options'>,
  settings = '',
): Promise<Held & { readonly client: pg.Client }> {
  const met: Met[] = []
  for (;;) {
    const { url } = servers
    const client = new pg.Client({
      ...options,
      connectionString: withSettings(url, settings),
      connectionTimeoutMillis: limits.postgresConnectMs,
      keepAlive: true,
    })
    // Who asks over it is told.
    client.on('error', () => {})
    try {
      await client.connect()
      const timeline = await requirePrimary(client, url, servers.judge)
      return { client, url, timeline }
    } catch (error) {
      void client.end().catch(() => {})
      servers.failed(url)
      met.push({ url, error: error as Error })
      if (met.length >= servers.all.length) throw new StorageUnreachable(toldOfEach(met))
    }
  }
}

/**
 * The highest timeline of the same cluster on which another of the servers takes writes than the one that is held, where it is higher than that one's. Who
 * does not answer is left out.
 */
export async function findNewerTimeline({ all }: Servers, held: Held): Promise<Timeline | undefined> {
  if (held.timeline === undefined) return undefined
  const others = all.filter(url => url !== held.url)
  let newest = held.timeline
  for (const one of await Promise.all(others.map(url => timelineOf(url).catch(() => undefined)))) {
    if (one?.system === newest.system && one.number > newest.number) newest = one
  }
  return newest === held.timeline ? undefined : newest
}

async function timelineOf(url: string): Promise<Timeline | undefined> {
  const asked = createServers(url)
  const { client, timeline } = await connectTo(asked, { application_name: 'mailboxd look' })
  void client.end().catch(() => {})
  return timeline
}

/** What a URL says goes before what is said beside it, and the last `options` of it before the others: so they are joined in one. */
function withSettings(url: string, settings: string): string {
  if (settings === '') return url
  const query = url.indexOf('?')
  const own = query < 0 ? null : new URLSearchParams(url.slice(query)).get('options')
  const joined = own === null ? settings : `${own} ${settings}`
  return `${url}${query < 0 ? '?' : '&'}options=${encodeURIComponent(joined)}`
}
