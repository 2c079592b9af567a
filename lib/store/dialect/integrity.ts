import Database from 'better-sqlite3'

/** What of the damage is told; more is as bad. */
const toldOfDamage = 20

/**
 * What SQLite finds wrong with a file: pages, indexes, rows that break a constraint or point to nothing. Nothing: it is whole.
 * It reads all of it.
 */
export function findDamage(path: string): string[] {
  let connection: Database.Database
  try {
    connection = new Database(path, { readonly: true, fileMustExist: true })
  } catch (error) {
    if (error instanceof Database.SqliteError) return [error.message]
    throw error
  }
  try {
    const found = connection.pragma(`integrity_check(${toldOfDamage})`) as { integrity_check: string }[]
    const texts = found.map(row => row.integrity_check).filter(text => text !== 'ok')
    const orphans = connection.pragma('foreign_key_check') as {
      table: string
      rowid: number
      parent: string
    }[]
    const pointing = orphans
      .slice(0, toldOfDamage)
      .map(
        ({ table, rowid, parent }) =>
          `row ${rowid} of ${table} points to a row of ${parent} that is not there`,
      )
    return [...texts, ...pointing]
  } catch (error) {
    if (error instanceof Database.SqliteError) return [error.message]
    throw error
  } finally {
    connection.close()
  }
}
