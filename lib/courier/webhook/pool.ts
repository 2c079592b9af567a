import { limits } from '../../base/limits.ts'
import type { NotOpened } from '../guarded-connect.ts'
import type { WebhookConnection } from './connection.ts'

/** The connections to one origin, and the calls that wait for one. */
interface Line {
  open: number
  /** Calls that take one now; the line is kept for them. */
  takers: number
  readonly idle: WebhookConnection[]
  readonly waiting: (() => void)[]
}

export interface PoolOptions {
  readonly maxConnections: number
  readonly maxConnectionsPerOrigin: number
  /** Whether a connection that waited may carry another call; asked before each. */
  readonly mayReuse: (connection: WebhookConnection) => boolean
}

/** How a connection is opened; `onClosed` is to be called once, when it has ended. */
export type Open = (
  onClosed: (connection: WebhookConnection) => void,
) => Promise<WebhookConnection | NotOpened>

/**
 * Webhook connections, bounded in all and to each origin; where the bound is met, a call waits, or the connection that
 * waited longest makes room. Nothing is kept of an origin without connections.
 */
export class WebhookPool {
  readonly #options: PoolOptions
  readonly #lines = new Map<string, Line>()
  /** Those that wait for a call, longest first. */
  readonly #idle = new Set<WebhookConnection>()
  /** Lines with calls that wait because there are too many connections in all. */
  readonly #starved = new Set<Line>()
  #open = 0
  #isClosed = false

  constructor(options: Partial<PoolOptions> & Pick<PoolOptions, 'mayReuse'>) {
    this.#options = {
      maxConnections: limits.webhookConnections,
      maxConnectionsPerOrigin: limits.webhookConnectionsPerOrigin,
      ...options,
    }
  }

  /** How many connections are open or being opened, and how many origins are known. */
  get size(): { connections: number; origins: number } {
    return { connections: this.#open, origins: this.#lines.size }
  }

  /** A connection for one call, which is to be given back; a new one when `isFresh`. Waits as long as the signal lets it. */
  async take(
    origin: string,
    open: Open,
    signal: AbortSignal,
    isFresh = false,
  ): Promise<WebhookConnection | NotOpened> {
    const line = this.#lines.get(origin) ?? { open: 0, takers: 0, idle: [], waiting: [] }
    this.#lines.set(origin, line)
    line.takers++
    try {
      for (let isFirst = true; !signal.aborted; isFirst = false) {
        for (let kept = this.#takeIdle(line); kept !== undefined; kept = this.#takeIdle(line)) {
          if (!isFresh && this.#options.mayReuse(kept)) return kept
          kept.destroy()
        }
        if (this.#takeRoom(line)) return await this.#openIn(origin, line, open)
        await this.#wait(line, signal, isFirst)
      }
    } finally {
      line.takers--
      this.#forget(origin, line)
    }
    // It may have been woken just then: the next one takes the place.
    this.#wake(line)
    const reason = signal.reason instanceof Error ? signal.reason.message : String(signal.reason)
    return { error: `${reason}, all connections being busy` }
  }

  /** Takes a connection back after its call. */
  give(connection: WebhookConnection): void {
    const line = this.#lines.get(connection.origin)
    if (line === undefined || !connection.isOpen || this.#isClosed) {
      connection.destroy()
      return
    }
    line.idle.push(connection)
    this.#idle.add(connection)
    this.#wake(line)
  }

  /** Ends those that wait for a call; the others end when they are given back. */
  close(): void {
    this.#isClosed = true
    for (const connection of [...this.#idle]) connection.destroy()
  }

  async #openIn(origin: string, line: Line, open: Open): Promise<WebhookConnection | NotOpened> {
    const release = () => {
      line.open--
      this.#open--
      this.#wake(line)
      this.#forget(origin, line)
    }
    let opened: WebhookConnection | NotOpened
    try {
      opened = await open(connection => {
        this.#takeOut(connection, line)
        release()
      })
    } catch (error) {
      release()
      throw error
    }
    if ('error' in opened) release()
    return opened
  }

  /** Counts one more connection when there is room for it, or can be made. */
  #takeRoom(line: Line): boolean {
    if (line.open >= this.#options.maxConnectionsPerOrigin) return false
    if (this.#open >= this.#options.maxConnections) {
      const [longest] = this.#idle
      longest?.destroy()
    }
    if (this.#open >= this.#options.maxConnections) {
      this.#starved.add(line)
      return false
    }
    line.open++
    this.#open++
    return true
  }

  #takeIdle(line: Line): WebhookConnection | undefined {
    const connection = line.idle.pop()
    if (connection !== undefined) this.#idle.delete(connection)
    return connection
  }

  #takeOut(connection: WebhookConnection, line: Line): void {
    if (this.#idle.delete(connection)) line.idle.splice(line.idle.indexOf(connection), 1)
  }

  #wait(line: Line, signal: AbortSignal, isFirst: boolean): Promise<void> {
    return new Promise(resolve => {
      const wake = () => {
        signal.removeEventListener('abort', abort)
        resolve()
      }
      const abort = () => {
        const place = line.waiting.indexOf(wake)
        if (place >= 0) line.waiting.splice(place, 1)
        wake()
      }
      signal.addEventListener('abort', abort, { once: true })
      if (isFirst) line.waiting.push(wake)
      else line.waiting.unshift(wake)
    })
  }

  /** Lets one call look again: one of this origin, or one that waits for room in all. */
  #wake(line: Line): void {
    const own = line.waiting.shift()
    if (own !== undefined) {
      own()
      return
    }
    for (const other of this.#starved) {
      this.#starved.delete(other)
      // It could not take the room, which nobody else would hear of then: its own connections wake it.
      if (other.open >= this.#options.maxConnectionsPerOrigin) continue
      const wake = other.waiting.shift()
      if (wake === undefined) continue
      if (other.waiting.length > 0) this.#starved.add(other)
      wake()
      return
    }
  }

  #forget(origin: string, line: Line): void {
    if (line.open > 0 || line.takers > 0) return
    this.#lines.delete(origin)
    this.#starved.delete(line)
  }
}
