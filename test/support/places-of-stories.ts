import type { Test } from 'tap'
import { startBucket } from './bucket.ts'
import { newPostgresDatabase } from './databases.ts'
import { migratedDatabase } from './postgres.ts'
import { isOnServers } from './server-stories.ts'

/** `MAILBOXD_TEST_BLOBS=s3` has every story told with its large messages in a bucket, one for each daemon. */
const onBucket = process.env.MAILBOXD_TEST_BLOBS === 's3'

/** A new database for the rows of a story that is told on servers; of another one they are in a file. */
export async function serverOfStories(): Promise<string | undefined> {
  return isOnServers ? newPostgresDatabase(migratedDatabase) : undefined
}

/**
 * The lines of a configuration above its first table, and a table, that have the large messages of a story in a bucket.
 * @param toml its configuration: where that says itself where they are, or has a bucket that it does not use yet, these are empty
 */
export async function bucketOfStories(t: Test, toml = ''): Promise<readonly [top: string, table: string]> {
  return onBucket && !/^(blobs = |\[s3\])/m.test(toml) ? (await startBucket(t)).tomlParts : ['', '']
}
