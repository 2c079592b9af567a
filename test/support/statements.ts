import Database from 'better-sqlite3'

/** The statements that SQLite ran in this process while `work` was done, each as often as it was run. */
export async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  const ran: string[] = []
  const prototype = statementPrototype()
  const kept = { all: prototype.all, run: prototype.run, get: prototype.get, iterate: prototype.iterate }
  for (const [name, original] of Object.entries(kept)) {
    prototype[name as keyof typeof kept] = function counted(this: { source: string }, ...values: unknown[]) {
      ran.push(this.source)
      return original.apply(this as never, values)
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
