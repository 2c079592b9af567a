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
