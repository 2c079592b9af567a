import Database from 'better-sqlite3'

/** The statements that SQLite ran in this process while `work` was done, each as often as it was run. */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  return (await ranDuring(work)).map(({ text }) => text)
}

/** How many rows they gave. */
export async function rowsReadBy(work: () => Promise<unknown>): Promise<number> {
  return (await ranDuring(work)).reduce((sum, { rows }) => sum + rows, 0)
}

async function ranDuring(work: () => Promise<unknown>): Promise<{ text: string; rows: number }[]> {
  const ran: { text: string; rows: number }[] = []
  const prototype = statementPrototype()
  const kept = { all: prototype.all, run: prototype.run, get: prototype.get, iterate: prototype.iterate }
  for (const [name, original] of Object.entries(kept)) {
    prototype[name as keyof typeof kept] = function counted(this: { source: string }, ...values: unknown[]) {
      const given = original.apply(this as never, values) as unknown
      ran.push({ text: this.source, rows: Array.isArray(given) ? given.length : name === 'get' ? 1 : 0 })
      return given
    } as never
  }
  try {
    await work()
  } finally {
    Object.assign(prototype, kept)
  }
  return ran
}

function statementPrototype() {
  const memory = new Database(':memory:')
  const prototype = Object.getPrototypeOf(memory.prepare('select 1')) as Database.Statement<unknown[]>
  memory.close()
  return prototype
}
