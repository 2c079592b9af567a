import { connect, type Socket } from 'node:net'
import { percentile } from './percentile.ts'

export interface HttpFigures {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Asks for `paths`, one after the other, over kept connections for `seconds`; throws at an answer other than 200. */
export async function loadHttp(
  server: { readonly port: number; readonly token: string },
  paths: readonly string[],
  { connections = 20, seconds = 3 } = {},
): Promise<HttpFigures> {
  await run(server, paths, connections, 1)
  const times = await run(server, paths, connections, seconds)
  return {
    perSecond: times.length / seconds,
    p50Ms: percentile(times, 50),
    p99Ms: percentile(times, 99),
  }
}

async function run(
  { port, token }: { readonly port: number; readonly token: string },
  paths: readonly string[],
  connections: number,
  seconds: number,
): Promise<number[]> {
  const times: number[] = []
  const until = performance.now() + seconds * 1000
  let asked = 0
  const one = async () => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const read = answers(socket)
    while (performance.now() < until) {
      const path = paths[asked++ % paths.length]!
      const started = performance.now()
      socket.write(`GET ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${token}\r\n\r\n`)
      const status = await read()
      if (status !== 200) throw new Error(`${path} was answered ${status}`)
      times.push(performance.now() - started)
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: connections }, one))
  return times
}

/** Gives the status of the next answer when the whole of it is there. */
function answers(socket: Socket): () => Promise<number> {
  let held: Buffer = Buffer.alloc(0)
  let wanted = -1
  let status = 0
  let resolve: ((status: number) => void) | undefined
  let reject: ((error: Error) => void) | undefined
  socket.on('error', error => reject?.(error))
  socket.on('close', () => reject?.(new Error('the server hung up')))
  socket.on('data', (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk])
    if (wanted < 0) {
      const end = held.indexOf('\r\n\r\n')
      if (end < 0) return
      const head = held.toString('latin1', 0, end)
      status = Number(head.slice(9, 12))
      wanted = end + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    }
    if (held.length < wanted) return
    held = held.subarray(wanted)
    wanted = -1
    resolve?.(status)
  })
  return () =>
    new Promise((done, failed) => {
      resolve = done
      reject = failed
    })
}
