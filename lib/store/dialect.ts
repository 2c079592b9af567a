import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** A handle that queries go through: the reader, or the one that a write is given. It comes first in every function of store. */
export type Db = Kysely<Tables>

export type DialectName = 'sqlite' | 'postgres'

/** Portable DDL (schema.sql says its rules) in the words of `dialect`. */
export function ddlFor(dialect: DialectName, sql: string): string {
  if (dialect === 'sqlite') return sql
  return sql.replaceAll(/\btext\b/g, 'text collate "C"').replaceAll(/\bblob\b/g, 'bytea')
}
