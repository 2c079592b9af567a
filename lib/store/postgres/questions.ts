import { StorageUnreachable } from '../../base/storage-fault.ts'
import { type Answer, type Client, isOfOldPlan, type Send } from '../transactions/connection.ts'
import { answersOf, joinedText, type Question } from './joined.ts'

/** How many go over one connection at once: they are answered one after the other. */
const questionsAtOnce = 32

interface Waiting extends Question {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * Asks kept statements, which are short, over connections of a pool. Those that are asked in one turn of the event loop, and those that wait for a
 * connection, travel together over the next; and those of one text are one statement.
 */
export function askTogether(connect: () => Promise<Client>): Send {
  const waiting: Waiting[] = []
  /** Texts that the server did not take as one statement. */
  const apart = new Set<string>()
  let isGathering = false

  async function askWaiting(): Promise<void> {
    isGathering = true
    let client: Client
    try {
      // After the callbacks of this turn of the event loop.
      await new Promise<void>(resolve => setImmediate(resolve))
      client = await connect()
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error)
      return
    } finally {
      isGathering = false
    }
    const some = waiting.splice(0, questionsAtOnce)
    if (waiting.length > 0) void askWaiting()
    const asked = [...Map.groupBy(some, one => one.text).values()].map(alike => askAlike(client, alike))
    await Promise.all(asked)
    client.release()
  }

  async function askAlike(client: Client, alike: readonly Waiting[]): Promise<void> {
    const { text } = alike[0]!
    const joined = alike.length === 1 || apart.has(text) ? undefined : joinedText(alike)
    if (joined && (await askJoined(client, alike, joined))) return
    await Promise.all(alike.map(one => askOne(client, one)))
  }

  /** Gives whether they were answered so. */
  async function askJoined(client: Client, alike: readonly Waiting[], joined: Question): Promise<boolean> {
    try {
      const { rows } = await client.query(joined.text, joined.values, joined.name)
      for (const [index, own] of answersOf(rows, alike.length).entries())
        alike[index]!.resolve({ command: 'SELECT', rowCount: own.length, rows: own })
      return true
    } catch (error) {
      if (!isOfOldPlan(error) && !(error instanceof StorageUnreachable)) apart.add(alike[0]!.text)
      return false
    }
  }

  return (text, values = [], name) =>
    new Promise((resolve, reject) => {
      waiting.push({ text, values, name, resolve, reject })
      if (!isGathering) void askWaiting()
    })
}

function askOne(client: Client, { text, values, name, resolve, reject }: Waiting): Promise<void> {
  return client
    .query(text, values, name)
    .catch(error => {
      if (isOfOldPlan(error)) return client.query(text, values)
      throw error
    })
    .then(resolve, reject)
}
