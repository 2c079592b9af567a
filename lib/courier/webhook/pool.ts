import { FairSlots, type Leave } from '../../base/fair-slots.ts'
import type { NotOpened } from '../guarded-connect.ts'
import type { WebhookConnection } from './connection.ts'

/** Webhook connections: in all, and to one origin. */
export const webhookConnections = 1000
export const webhookConnectionsPerOrigin = 20

/** The connections to one origin. */
interface Line {
  open: number
  readonly idle: WebhookConnection[]
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
  /** Those of the calls that have a connection, or open one. */
  readonly #slots: FairSlots
  readonly #leaves = new WeakMap<WebhookConnection, Leave>()
  readonly #lines = new Map<string, Line>()
  /** Those that wait for a call, longest first. */
  readonly #idle = new Set<WebhookConnection>()
  #open = 0
  #isClosed = false

  constructor(options: Partial<PoolOptions> & Pick<PoolOptions, 'mayReuse'>) {
    this.#options = {
      maxConnections: webhookConnections,
      maxConnectionsPerOrigin: webhookConnectionsPerOrigin,
      ...options,
    }
    const { maxConnections, maxConnectionsPerOrigin } = this.#options
    this.#slots = new FairSlots({ size: maxConnections, share: () => maxConnectionsPerOrigin })
  }

  /** How many connections are open or being opened, and to how many origins. */
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
    const leave = await this.#slots.enter(origin, { signal })
    if (!leave || signal.aborted) {
      leave?.()
      const reason = signal.reason instanceof Error ? signal.reason.message : String(signal.reason)
      return { error: `${reason}, all connections being busy` }
    }
    try {
      const taken = this.#takeIdle(origin, isFresh) ?? (await this.#openTo(origin, open))
      if ('error' in taken) setImmediate(leave)
      else this.#leaves.set(taken, leave)
      return taken
    } catch (error) {
      leave()
      throw error
    }
  }

  /** Takes a connection back after its call. */
  give(connection: WebhookConnection): void {
    const line = this.#lines.get(connection.origin)
    if (line === undefined || !connection.isOpen || this.#isClosed) connection.destroy()
    else {
      line.idle.push(connection)
      this.#idle.add(connection)
    }
    this.#leaves.get(connection)?.()
  }

  /** Ends those that wait for a call; the others end when they are given back. */
  close(): void {
    this.#isClosed = true
    for (const connection of [...this.#idle]) connection.destroy()
  }

  /** Returns the connection to the origin that came back last and may be used again. */
  #takeIdle(origin: string, isFresh: boolean): WebhookConnection | undefined {
    const idle = this.#lines.get(origin)?.idle ?? []
    for (let kept = idle.pop(); kept !== undefined; kept = idle.pop()) {
      this.#idle.delete(kept)
      if (!isFresh && this.#options.mayReuse(kept)) return kept
      kept.destroy()
    }
    return undefined
  }

  async #openTo(origin: string, open: Open): Promise<WebhookConnection | NotOpened> {
    // Fewer calls than that have a connection, so at least one is idle.
    if (this.#open >= this.#options.maxConnections) this.#idle.values().next().value?.destroy()
    const line = this.#lines.get(origin) ?? { open: 0, idle: [] }
    this.#lines.set(origin, line)
    line.open++
    this.#open++
    const closed = () => {
      line.open--
      this.#open--
      if (line.open === 0) this.#lines.delete(origin)
    }
    try {
      const opened = await open(connection => {
        if (this.#idle.delete(connection)) line.idle.splice(line.idle.indexOf(connection), 1)
        closed()
        const leave = this.#leaves.get(connection)
        // Calls whose time is over end in one turn of the event loop: no such call must begin because another one ended.
        if (leave) setImmediate(leave)
      })
      if ('error' in opened) closed()
      return opened
    } catch (error) {
      closed()
      throw error
    }
  }
}
