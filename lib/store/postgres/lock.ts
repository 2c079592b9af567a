import pg from 'pg'
import { limits } from '../../base/limits.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import { DataDirectoryBusy } from '../dialect/lock.ts'

/** What everybody who locks a database of mailboxd agrees upon: the letters of its name. */
const lockNumber = Number.parseInt(Buffer.from('mailbox').toString('hex').slice(0, 12), 16)

/** The one lock of a database on a server: while it is held, no other daemon starts on it. */
export interface ServerLock {
  /** Resolves when the connection that holds it has ended: from then on another daemon may start. */
  readonly lost: Promise<Error>
  release(): Promise<void>
}

/**
 * Takes it, and waits a moment for one who has just ended.
 * @param url as of `openStore`
 * @throws DataDirectoryBusy when another daemon holds it, StorageUnreachable
 */
export async function lockServer(url: string): Promise<ServerLock> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'mailboxd lock',
    connectionTimeoutMillis: limits.postgresConnectMs,
    lock_timeout: limits.postgresLockMs,
    keepAlive: true,
  })
  const lost = new Promise<Error>(resolve => {
    client.on('error', resolve)
    client.once('end', () => resolve(new Error('the server of the database ended the connection')))
  })
  await client.connect().catch(cause => {
    throw new StorageUnreachable(cause)
  })
  try {
    await client.query('select pg_advisory_lock($1)', [lockNumber])
  } catch (error) {
    await client.end().catch(() => {})
    const isHeld = error instanceof Error && 'code' in error && error.code === lockNotAvailable
    if (isHeld) throw new DataDirectoryBusy('another mailboxd runs on this database; only one may at a time')
    throw error
  }
  return { lost, release: () => client.end() }
}

const lockNotAvailable = '55P03'
