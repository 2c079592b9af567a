import { StorageUnreachable } from '../../base/faults.ts'
import { inTime } from '../../base/time.ts'
import type { App } from './app.ts'

/** How long a peer that brings mail, or a request that sends some, waits for the database. */
export const mailStorageMs = 20_000

/**
 * What the server of the database does not do in time is not waited for by who asks, though it may be done all the same: a server that
 * waits for a standby, or a connection through which nothing comes any more. The disk of a file is waited for.
 * @throws StorageUnreachable
 */
export async function inServerTime<T>(
  { store }: { readonly store: Pick<App['store'], 'dialect'> },
  work: Promise<T>,
  ms: number,
): Promise<T> {
  if (store.dialect === 'sqlite') return work
  const late = () => Promise.reject(new StorageUnreachable(new Error('it does not answer in time'))) as never
  return inTime(work, ms, late)
}
