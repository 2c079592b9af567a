import type { Duplex } from 'node:stream'
import pg from 'pg'
import { outageOf, Standby } from './outage.ts'

/** How long a connection to PostgreSQL may take. */
export const postgresConnectMs = 5000
/** How long a connection may take to end. */
export const postgresGoodbyeMs = 1_000

/**
 * The same URL, with the sslmode values that node-postgres treats as `verify-full` written so: otherwise it prints ten lines on
 * standard error about a change to come.
 */
export function withPlainMode(url: string): string {
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(url)) return url
  return url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full')
}

/**
 * Begins a session: sets what it needs, whatever the role, the database or the URL says, and refuses a standby, which may not know of
 * the newest inboxes. PgBouncer refuses unknown settings when a connection begins, so they are set by a statement.
 * @throws Standby
 */
export async function beginSession(
  client: pg.ClientBase,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const set = Object.entries(settings).map(([name, value]) => `set ${name} = ${value};`)
  const text = `${set.join(' ')} select pg_is_in_recovery() as "isStandby"`
  // pg has a bound for one query, which its types do not know.
  const query = { text, query_timeout: postgresConnectMs }
  const answers = (await client.query(query)) as unknown as pg.QueryResult | pg.QueryResult[]
  if ([answers].flat().at(-1)!.rows[0].isStandby) throw new Standby()
}

/**
 * Opens a connection outside of a pool.
 * @param settings of its session
 * @throws StorageUnreachable
 */
export async function connectAlone(
  url: string,
  name: string,
  settings: Readonly<Record<string, string>> = {},
): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: withPlainMode(url),
    application_name: name,
    connectionTimeoutMillis: postgresConnectMs,
    keepAlive: true,
  })
  // Whoever asks over it gets the error.
  client.on('error', () => {})
  try {
    await client.connect()
    await beginSession(client, settings)
    return client
  } catch (error) {
    void client.end().catch(() => {})
    throw outageOf(error)
  }
}

/** Ends a connection immediately: `end` waits for the answers to what was asked over it. */
export function cutOff(client: pg.ClientBase): void {
  streamOf(client).destroy()
}

/** The socket of a connection, which pg does not declare. */
export function streamOf(client: pg.ClientBase): Duplex {
  return (client as unknown as { readonly connection: { readonly stream: Duplex } }).connection.stream
}
