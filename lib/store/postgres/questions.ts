import { type Client, isOfOldPlan, type Send } from './connection.ts'

/** How many go over one connection at once: they are answered one after the other. */
const questionsAtOnce = 32

interface Waiting {
  ask(client: Client): Promise<void>
  fail(error: unknown): void
}

/**
 * Asks kept statements, which are short, over connections of a pool. Those that wait for a connection, because they are asked in one turn of the event loop or
 * since none is free, travel together over the next.
 */
export function askTogether(connect: () => Promise<Client>): Send {
  const waiting: Waiting[] = []
  let isConnecting = false

  async function askWaiting(): Promise<void> {
    isConnecting = true
    let client: Client
    try {
      client = await connect()
    } catch (error) {
      for (const { fail } of waiting.splice(0)) fail(error)
      return
    } finally {
      isConnecting = false
    }
    const asked = waiting.splice(0, questionsAtOnce).map(one => one.ask(client))
    if (waiting.length > 0) void askWaiting()
    await Promise.all(asked)
    client.release()
  }

  return (text, values, name) =>
    new Promise((resolve, reject) => {
      waiting.push({
        ask: client =>
          client
            .query(text, values, name)
            .catch(error => {
              if (isOfOldPlan(error)) return client.query(text, values)
              throw error
            })
            .then(resolve, reject),
        fail: reject,
      })
      if (!isConnecting) void askWaiting()
    })
}
