import { type Kysely, PostgresAdapter } from 'kysely'
import type { Tables } from '../tables.ts'

/** What both handles of a database have: it reads. It comes first in every function of store that only reads. */
export type Db = Pick<Kysely<Tables>, 'selectFrom' | 'getExecutor' | 'executeQuery'>

/** The handle that a write is given: it changes, too. What takes one can be called within a write alone. */
export type WriteDb = Kysely<Tables>

export type DialectName = 'sqlite' | 'postgres'

/** Whose words the queries on this handle are written in, for the few that can't be portable. */
export function dialectOf(db: Db): DialectName {
  return db.getExecutor().adapter instanceof PostgresAdapter ? 'postgres' : 'sqlite'
}

/** What stands between `-- only on <dialect>` and `-- end only` is for that one alone. */
const section = /^-- only on (\w+)$([\s\S]*?)^-- end only$/gm

/** Portable DDL (schema.sql says its rules) and the sections of `dialect`, in its words. */
export function ddlFor(dialect: DialectName, script: string): string {
  const sql = script.replaceAll(section, (_whole, name: string, own: string) => (name === dialect ? own : ''))
  if (dialect === 'sqlite') return sql
  return sql.replaceAll(/\btext\b/g, 'text collate "C"').replaceAll(/\bblob\b/g, 'bytea')
}
