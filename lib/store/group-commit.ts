import type { Db } from './dialect.ts'
import type { SqliteConnection } from './sqlite.ts'

/** How many writes share one commit at the most: bounds how long the event loop is held. */
const writesPerCommit = 64

interface Waiting {
  readonly work: (db: Db) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * All writes that are waiting go into one SQLite transaction, each in its own savepoint, then one commit and one
 * fsync. A write's promise resolves only after that commit; one that throws rolls back alone. The work awaits nothing
 * but queries, so a batch runs without anything in between.
 */
export function createGroupCommit(connection: SqliteConnection) {
  let waiting: Waiting[] = []
  let running: Promise<void> | undefined

  /** Starts after the callbacks of this turn of the event loop, so that writes of many sessions meet in one commit. */
  const start = () => new Promise<void>(resolve => setImmediate(resolve)).then(drain)

  async function drain(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, writesPerCommit)
      waiting = waiting.slice(writesPerCommit)
      await commit(batch)
      // Between two commits the sockets get their turn.
      if (waiting.length > 0) await new Promise<void>(resolve => setImmediate(resolve))
    }
    running = undefined
  }

  async function commit(batch: readonly Waiting[]): Promise<void> {
    const settled: (() => void)[] = []
    try {
      connection.exec('begin immediate')
      for (const write of batch) {
        connection.exec('savepoint one')
        try {
          const value = await write.work(connection.db)
          connection.exec('release one')
          settled.push(() => write.resolve(value))
        } catch (error) {
          // Some faults (disk full, I/O) make SQLite roll back the whole transaction; then this throws too
          // and the whole batch fails, which is the truth.
          connection.exec('rollback to one')
          connection.exec('release one')
          settled.push(() => write.reject(error))
        }
      }
      connection.exec('commit')
    } catch (error) {
      rollBack(connection)
      for (const write of batch) write.reject(error)
      return
    }
    for (const settle of settled) settle()
  }

  return {
    write<T>(work: (db: Db) => Promise<T>): Promise<T> {
      return new Promise<T>((resolve, reject) => {
        waiting.push({ work, resolve: value => resolve(value as T), reject })
        running ??= start()
      })
    },
    /** Resolves when nothing is waiting or under way. */
    async idle(): Promise<void> {
      while (running) await running
    },
  }
}

function rollBack(connection: SqliteConnection): void {
  try {
    connection.exec('rollback')
  } catch {
    // There is no transaction any more: SQLite rolled it back itself, or it never began.
  }
}
