import Database from 'better-sqlite3'

/** Another daemon works on this data directory. */
export class DataDirectoryBusy extends Error {
  override readonly name = 'DataDirectoryBusy'
}

/**
 * Takes the one lock of a data directory for as long as this process lives; the system lets go of it when the process
 * dies, however it dies. Gives the function that lets go.
 * @param path the lock file, made when missing
 * @throws DataDirectoryBusy
 */
export function lockDataDirectory(path: string): () => void {
  const database = new Database(path, { timeout: 0 })
  try {
    database.exec('begin exclusive')
  } catch (error) {
    database.close()
    if (error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')) {
      throw new DataDirectoryBusy(`another mailboxd runs on this data directory (it holds ${path})`)
    }
    throw error
  }
  return () => database.close()
}
