import { once } from 'node:events'

/** The longest turn of another process's event loop since it was last asked. */
export interface LongestTurn {
  /** By the clock, with what else the machine did. */
  readonly ms: number
  /** The CPU time of its thread in the turn that took most of it, which is its own. */
  readonly cpuMs: number
}

export interface TurnWatch {
  longest(): Promise<LongestTurn>
  close(): void
}

/** A timer that is due each millisecond is late by what the turn before it took. */
const sampler = `(() => {
  let longest = { ms: 0, cpuMs: 0 }
  let at = performance.now()
  let cpu = process.threadCpuUsage()
  setInterval(() => {
    const now = performance.now()
    const used = process.threadCpuUsage(cpu)
    cpu = process.threadCpuUsage()
    longest.ms = Math.max(longest.ms, now - at)
    longest.cpuMs = Math.max(longest.cpuMs, (used.user + used.system) / 1000)
    at = now
  }, 1)
  globalThis.longestTurn = () => {
    const text = JSON.stringify(longest)
    longest = { ms: 0, cpuMs: 0 }
    return text
  }
})()`

/** Watches a process that was started with `--inspect=127.0.0.1:<port>`. */
export async function watchTurns(inspectorPort: number): Promise<TurnWatch> {
  const list = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`)
  const [target] = (await list.json()) as { webSocketDebuggerUrl: string }[]
  const socket = new WebSocket(target!.webSocketDebuggerUrl)
  await once(socket, 'open')
  let lastId = 0
  const evaluate = async (expression: string): Promise<unknown> => {
    const id = ++lastId
    socket.send(JSON.stringify({ id, method: 'Runtime.evaluate', params: { expression } }))
    for (;;) {
      const [{ data }] = (await once(socket, 'message')) as [MessageEvent]
      const answer = JSON.parse(String(data))
      if (answer.id === id) return answer.result.result.value
    }
  }
  await evaluate(sampler)
  return {
    async longest() {
      return JSON.parse(String(await evaluate('longestTurn()')))
    },
    close: () => socket.close(),
  }
}
