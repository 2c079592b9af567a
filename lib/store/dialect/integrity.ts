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

/** What SQLite finds wrong with a file; it reads all of it. */
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
    if (error instanceof Database.SqliteError) return { broken: [error.message], orphans: [] }
    throw error
  }
}

/** The same but for indexes that miss rows and rows that point to nothing: without sorting anything. */
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
    if (error instanceof Database.SqliteError) return [error.message]
    throw error
  }
}

function orphansOf(connection: Database.Database): string[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; rowid: number; parent: string }[]
  return rows
    .slice(0, toldOfDamage)
    .map(
      ({ table, rowid, parent }) => `row ${rowid} of ${table} points to a row of ${parent} that is not there`,
    )
}
