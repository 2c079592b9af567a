import pg from 'pg'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'

/**
 * The URL of each server that one URL names (`postgres://user@a:5432,b:5432/database`), in their order: node-postgres itself
 * connects to one.
 */
function serversOf(url: string): readonly string[] {
  const [, before = '', hosts, after = ''] =
    /^(postgres(?:ql)?:\/\/(?:[^@/?#]*@)?)([^@/?#]*)(.*)$/s.exec(url) ?? []
  return hosts === undefined ? [url] : hosts.split(',').map(host => `${before}${host}${after}`)
}

/** Which of the servers of a URL is asked: the first, until it fails, and then the one after it. */
export interface Servers {
  readonly url: string
  readonly count: number
  /** The one with this URL is not reached, or takes no writes. Who says so of one that is not asked any more says nothing new. */
  failed(url: string): void
}

export function createServers(url: string): Servers {
  const all = serversOf(url)
  let at = 0
  return {
    get url() {
      return all[at]!
    },
    count: all.length,
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

/** @throws Standby; an outage where it does not answer for as long as a connection may take */
export async function requirePrimary(client: pg.ClientBase): Promise<void> {
  // pg has a bound for one query, of which its types know nothing.
  const bounded = {
    text: 'select pg_is_in_recovery() as "isStandby"',
    query_timeout: limits.postgresConnectMs,
  }
  const { rows } = await client.query<{ isStandby: boolean }>(bounded)
  if (rows[0]!.isStandby) throw new Standby()
}

/**
 * Connects to the first of the servers that takes writes.
 * @param settings of the session, `-c name=value`, beside those that the URL has
 * @throws StorageUnreachable when none of them does
 */
export async function connectTo(
  servers: Servers,
  options: Omit<pg.ClientConfig, 'connectionString' | 'options'>,
  settings = '',
): Promise<{ readonly client: pg.Client; readonly url: string }> {
  for (let tried = 1; ; tried++) {
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
      await requirePrimary(client)
      return { client, url }
    } catch (cause) {
      void client.end().catch(() => {})
      servers.failed(url)
      if (tried >= servers.count) throw new StorageUnreachable(cause as Error)
    }
  }
}

/** What a URL says goes before what is said beside it, and the last `options` of it before the others: so they are joined in one. */
function withSettings(url: string, settings: string): string {
  if (settings === '') return url
  const query = url.indexOf('?')
  const own = query < 0 ? null : new URLSearchParams(url.slice(query)).get('options')
  const joined = own === null ? settings : `${own} ${settings}`
  return `${url}${query < 0 ? '?' : '&'}options=${encodeURIComponent(joined)}`
}
