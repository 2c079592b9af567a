import { once } from 'node:events'
import type { Test } from 'tap'
import { type ClientOptions, WebSocket } from 'ws'
import { describedForm } from './contract.ts'
import { until } from './until.ts'

/** What the server says, of any kind. */
export interface Said {
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  readonly [name: string]: any
}

/** A WebSocket client that keeps what it is told, and fails its test when that has another form than OpenAPI says. */
export interface SocketClient {
  readonly socket: WebSocket
  readonly said: readonly Said[]
  /** What was said that are events. */
  readonly events: readonly Said[]
  /** The numbers that `createEventWriter` gave the events. */
  readonly numbers: readonly number[]
  say(message: unknown): void
  /** Says something, and gives the next answer that is no event. */
  ask(message: unknown): Promise<Said>
  /** Waits until so many events came. */
  told(count: number): Promise<readonly Said[]>
  /** How it was closed. */
  readonly closed: Promise<{ code: number; reason: string }>
}

const serverMessage = describedForm('WsServerMessage')

/** Opens a WebSocket with a key in the header; throws what the server refuses it with. */
export async function openSocket(
  t: Test,
  baseUrl: string,
  token: string | undefined,
  options: ClientOptions & { readonly query?: string } = {},
): Promise<SocketClient> {
  const { query = '', ...rest } = options
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const socket = new WebSocket(`${baseUrl.replace('http', 'ws')}/v1/ws${query}`, { headers, ...rest })
  t.teardown(() => socket.terminate())
  const said: Said[] = []
  const events: Said[] = []
  socket.on('message', data => {
    const message: Said = JSON.parse(String(data))
    const fault = serverMessage(message)
    if (fault !== undefined) t.fail(`the server says what is no WsServerMessage: ${fault}`)
    said.push(message)
    if ('event' in message) events.push(message)
  })
  const closed = new Promise<{ code: number; reason: string }>(resolve => {
    socket.once('close', (code, reason) => resolve({ code, reason: String(reason) }))
  })
  await once(socket, 'open')
  socket.on('error', () => {})
  const say = (message: unknown) => {
    socket.send(typeof message === 'string' || Buffer.isBuffer(message) ? message : JSON.stringify(message))
  }
  return {
    socket,
    said,
    events,
    get numbers() {
      return events.map(event => event.data.number)
    },
    say,
    async ask(message) {
      const before = said.length
      say(message)
      return until('an answer', () => said.slice(before).find(one => 'type' in one))
    },
    told: count => until(`${count} events`, () => (events.length >= count ? events : undefined)),
    closed,
  }
}
