import { setImmediate } from 'node:timers/promises'
import { type Answer, type Connection, isOfOldPlan, type Send } from './connection.ts'

/** How many reads go over one connection together: the server answers one after the other. */
const readsAtOnce = 32

interface Waiting {
  readonly asked: Parameters<Send>
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/**
 * Asks kept statements, which are short, over connections of a pool. Those of one event-loop turn, and those that wait for a connection,
 * travel together over the next one.
 */
export function createReads(take: () => Promise<Connection>): Send {
  const waiting: Waiting[] = []
  let isGathering = false

  async function askWaiting(): Promise<void> {
    isGathering = true
    let connection: Connection
    try {
      await setImmediate()
      connection = await take()
    } catch (error) {
      for (const { reject } of waiting.splice(0)) reject(error)
      return
    } finally {
      isGathering = false
    }
    const some = waiting.splice(0, readsAtOnce)
    if (waiting.length > 0) void askWaiting()
    await Promise.all(some.map(one => askOne(connection.send, one)))
    connection.release()
  }

  return (...asked) =>
    new Promise((resolve, reject) => {
      waiting.push({ asked, resolve, reject })
      if (!isGathering) void askWaiting()
    })
}

function askOne(send: Send, { asked: [text, values, name], resolve, reject }: Waiting): Promise<void> {
  return send(text, values, name)
    .catch(error => {
      if (isOfOldPlan(error)) return send(text, values)
      throw error
    })
    .then(resolve, reject)
}
