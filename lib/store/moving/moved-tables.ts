import { sql } from 'kysely'
import { type Db, dialectOf } from '../dialect/dialect.ts'
import type { Tables } from '../tables.ts'

/**
 * The tables whose rows make an installation, each after those that it refers to, with the columns of its primary key. The pods are
 * first and the account last, by which a copy that was cut off is recognised. Left out are the search index and its work list
 * (made again from the messages), events without a place in the stream (`unplaced`, which get theirs before), the readers
 * of the moment (`reader`), and the ledger of migrations, which every database keeps of itself.
 */
const movedTables = {
  pod: ['id'],
  secretKey: ['id'],
  member: ['address'],
  domain: ['id'],
  domainKey: ['id'],
  domainUse: ['domain', 'podId'],
  inbox: ['id'],
  apiKey: ['id'],
  raw: ['id'],
  thread: ['id'],
  reading: ['id'],
  attachmentText: ['readingId', 'index'],
  message: ['id'],
  delivery: ['id'],
  standingHold: ['id'],
  attempt: ['id'],
  queueEntry: ['id'],
  destination: ['name'],
  event: ['id'],
  webhookDelivery: ['id'],
  webhookAttempt: ['id'],
  forwardConfirmation: ['id'],
  idempotency: ['inboxId', 'key'],
  policyMode: ['scope', 'setBy', 'direction'],
  policyRule: ['id'],
  policyAudit: ['id'],
  suppression: ['recipient', 'podId'],
  contact: ['inboxId', 'address'],
  usage: ['subject', 'kind', 'period'],
  dailyUsage: ['day', 'inboxId'],
  feedback: ['id'],
  draft: ['id'],
  draftAttachment: ['id'],
  greylistEntry: ['slot'],
  authenticationDeferral: ['id'],
  stsPolicy: ['domain'],
  tlsResult: ['day', 'domain', 'policyType', 'type', 'host'],
  acmeFile: ['id'],
  acmeChallenge: ['token'],
  node: ['id'],
  sweep: ['name'],
  account: ['id'],
} as const satisfies Partial<Record<keyof Tables, readonly string[]>>

export interface MovedTable {
  readonly name: string
  /** The columns of its primary key, which order its rows alike on every database: text is compared by its bytes. */
  readonly keys: readonly string[]
  /** All columns, in the order of their names. */
  readonly columns: readonly string[]
  /** Those whose values may be of any length. */
  readonly long: readonly string[]
}

/** The tables as they are in this database. */
export async function describeTables(db: Db): Promise<MovedTable[]> {
  const tables: MovedTable[] = []
  for (const [name, keys] of Object.entries(movedTables)) {
    const asked =
      dialectOf(db) === 'sqlite'
        ? sql<{
            name: string
            type: string
          }>`select "name", "type" from pragma_table_info(${name}) order by "name"`
        : sql<{ name: string; type: string }>`
            select column_name as "name", data_type as "type" from information_schema.columns
            where table_schema = current_schema() and table_name = ${name} order by column_name collate "C"`
    const { rows } = await asked.execute(db)
    const columns = rows.map(row => row.name)
    const long = rows.filter(({ type }) => /^(text|blob|bytea)$/i.test(type)).map(row => row.name)
    tables.push({ name, keys, columns, long })
  }
  return tables
}
