import { type Kysely, PostgresAdapter } from 'kysely'
import type { Tables } from '../tables.ts'

/** What both handles of a database have: it reads. It comes first in every function of store that only reads. */
export type Db = Pick<Kysely<Tables>, 'selectFrom' | 'getExecutor' | 'executeQuery'>

/** The handle that a write is given: it changes, too. What takes one can be called within a write alone. */
export type WriteDb = Kysely<Tables>

export type DialectName = 'sqlite' | 'postgres'

/** Whether a location, as `openStore` takes it, is that of a PostgreSQL server. */
export const isServer = (location: string) => /^postgres(ql)?:\/\//.test(location)

/** Whose words the queries on this handle are written in, for the few that can't be portable. */
export function dialectOf(db: Db): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

/**
 * Waits for statements that were asked one behind the other, none of which needs the answer of another: over a connection they travel
 * together. All have come to their end then, as must be before anything is undone.
 * @throws what was wrong with the first that failed
 */
export async function together(asked: readonly Promise<unknown>[]): Promise<void> {
  const ended = await Promise.allSettled(asked)
  const failed = ended.flatMap(one => (one.status === 'rejected' ? [one.reason] : []))
  if (failed.length > 0) throw causeAmong(failed)
}

/** What is to be told of several failures: the one by which a transaction was lost, and not what came of that. */
function causeAmong(failed: readonly unknown[]): unknown {
  return (
    failed.find(one => !(one instanceof Error && 'code' in one && one.code === afterFailure)) ?? failed[0]
  )
}

/** in_failed_sql_transaction */
const afterFailure = '25P02'

/** Portable DDL (schema.sql says its rules) and the sections of `dialect`, in its words. */
export function ddlFor(dialect: DialectName, script: string): string {
  const sql = withOwnSections(dialect, script)
  if (dialect === 'sqlite') return sql
  return sql.replaceAll(/\btext\b/g, 'text collate "C"').replaceAll(/\bblob\b/g, 'bytea')
}

/** What stands between `-- only on <dialect>` and `-- end only` is for that one alone. */
export function withOwnSections(dialect: DialectName, script: string): string {
  let only: string | undefined
  const kept = script.split('\n').flatMap(line => {
    const begun = /^-- only on (\w+)$/.exec(line)?.[1]
    if (begun !== undefined) {
      only = begun
      return ['']
    }
    const isOthers = only !== undefined && only !== dialect
    if (line !== '-- end only') return isOthers ? [] : [line]
    only = undefined
    return isOthers ? [] : ['']
  })
  return kept.join('\n')
}
