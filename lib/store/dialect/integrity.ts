import Database from 'better-sqlite3'

/** What of the damage is told; more is as bad. */
const toldOfDamage = 20

/** What is wrong with a SQLite file. */
export interface Damage {
  /** Pages, indexes, rows that break a constraint. What has any can't be asked. */
  readonly broken: readonly string[]
  /** Rows that point to nothing. */
  readonly orphans: readonly string[]
}

/**
 * What SQLite finds wrong with a file; it reads all of it.
 * @throws SqliteError where it can't be looked at: that says nothing about what stands in it
 */
export function findDamage(path: string): Damage {
  try {
    const connection = new Database(path, { readonly: true, fileMustExist: true })
    try {
      connection.pragma('trusted_schema = off')
      const found = connection.pragma(`integrity_check(${toldOfDamage})`) as { integrity_check: string }[]
      const broken = found.map(row => row.integrity_check).filter(text => text !== 'ok')
      return { broken, orphans: broken.length > 0 ? [] : orphansOf(connection) }
    } finally {
      connection.close()
    }
  } catch (error) {
    return { broken: [damageIn(error)], orphans: [] }
  }
}

/**
 * The same but for indexes that miss rows and rows that point to nothing: without sorting anything.
 * @throws SqliteError as of `findDamage`
 */
export function findBrokenQuickly(path: string): string[] {
  try {
    const connection = new Database(path, { readonly: true, fileMustExist: true })
    try {
      connection.pragma('trusted_schema = off')
      const found = connection.pragma(`quick_check(${toldOfDamage})`) as { quick_check: string }[]
      return found.map(row => row.quick_check).filter(text => text !== 'ok')
    } finally {
      connection.close()
    }
  } catch (error) {
    return [damageIn(error)]
  }
}

/** What an error says about the content of the file. @throws it where that is nothing: a full disk, a lock, a file that may not be opened */
function damageIn(error: unknown): string {
  const isDamage = error instanceof Database.SqliteError && /^SQLITE_(CORRUPT|NOTADB)/.test(error.code)
  if (isDamage) return error.message
  throw error
}

function orphansOf(connection: Database.Database): string[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; rowid: number; parent: string }[]
  return rows
    .slice(0, toldOfDamage)
    .map(
      ({ table, rowid, parent }) => `row ${rowid} of ${table} points to a row of ${parent} that is not there`,
    )
}
