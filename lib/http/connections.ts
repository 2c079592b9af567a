import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { createAddressCount } from '../base/address-count.ts'
import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { blockOf, networkOf } from '../base/network.ts'
import { Problem } from '../base/problem.ts'

/** The connections of the door: how many there may be, and how long one may leave its answers unread. */
export interface Connections {
  /** Counts a new connection until it is closed, and has it watched. */
  add(socket: Socket): void
  /** It has become a stream, which says itself how long it may be left unread. */
  noteStream(socket: Duplex): void
  /** Why nothing is answered on it; undefined for one that has its place. */
  refusalOf(socket: Socket): Problem | undefined
  /** How many are open. */
  count(): number
  /** Resolves when each open connection has asked something, or soon: who just connected is answered, and not cut off. */
  asked(): Promise<void>
  /** From now on, who was told all is not waited for long. */
  stop(): void
}

export interface ConnectionLimits {
  readonly max: number
  readonly maxPerAddress: number
  /** Of a block of addresses, which ten addresses of one network share. */
  readonly maxPerBlock: number
  /** How long nothing of an answer may be read. */
  readonly writeTimeoutMs: number
  /** Connections from such an address are those of many clients, and are counted in all alone. */
  readonly isTrusted: (address: string) => boolean
}

/** How far the reading of an answer is. */
interface Watched {
  isStream: boolean
  /** Bytes that went out, and when there were so many more that the reader counts as reading. */
  sent: number
  at: number
  /** Since when nothing more is said on it: what still comes is read and thrown away (`linger`). */
  endedAt: number | undefined
}

export function createConnections(clock: Clock, given: ConnectionLimits): Connections {
  const open = new Map<Duplex, Watched & { readonly socket: Socket }>()
  const refused = new WeakMap<Socket, Problem>()
  const shares = [
    {
      whose: 'Your address',
      max: given.maxPerAddress,
      ...createAddressCount(given.maxPerAddress, networkOf),
    },
    {
      whose: 'The network of your address',
      max: given.maxPerBlock,
      ...createAddressCount(given.maxPerBlock, blockOf),
    },
  ]
  let timer: NodeJS.Timeout | undefined
  let places = 0
  let lingerMs: number = limits.lingerMs

  function take(socket: Socket): Problem | undefined {
    const address = socket.remoteAddress ?? ''
    if (places >= given.max)
      return new Problem('unavailable', 'Too many connections are open. Try again shortly.')
    const counted = given.isTrusted(address) ? [] : shares
    const full = counted.findIndex(share => !share.add(address))
    if (full >= 0) {
      for (const share of counted.slice(0, full)) share.remove(address)
      const { whose, max } = counted[full]!
      const message = `${whose} has ${max} connections open. Close one first.`
      return new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
    }
    places++
    socket.once('close', () => {
      places--
      for (const share of counted) share.remove(address)
    })
    return undefined
  }

  function watch(): void {
    const now = clock.monotonicMs()
    let pending = 0
    for (const watched of open.values()) {
      const { socket } = watched
      const sent = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0 || sent - watched.sent >= limits.answerBytesPerTimeout) {
        watched.sent = sent
        watched.at = now
      } else if (!watched.isStream && now - watched.at >= given.writeTimeoutMs) socket.destroy()
      if (socket.writableEnded) watched.endedAt ??= now
      if (watched.endedAt !== undefined && now - watched.endedAt >= lingerMs) socket.destroy()
      pending += socket.writableLength
    }
    if (pending > limits.answersBytes) cutLargest(pending)
  }

  /** Those that most waits for are cut off: each answer is small enough to be asked for again. */
  function cutLargest(pending: number): void {
    let left = pending
    const byPending = [...open.values()]
      .map(({ socket }) => socket)
      .sort((a, b) => b.writableLength - a.writableLength)
    for (const socket of byPending) {
      if (left <= limits.answersBytes) return
      left -= socket.writableLength
      socket.destroy()
    }
  }

  return {
    add(socket) {
      open.set(socket, { socket, isStream: false, sent: 0, at: clock.monotonicMs(), endedAt: undefined })
      timer ??= setInterval(watch, limits.answersWatchMs)
      socket.once('close', () => {
        open.delete(socket)
        if (open.size > 0) return
        clearInterval(timer)
        timer = undefined
      })
      const problem = take(socket)
      if (!problem) return
      refused.set(socket, problem)
      // It is told so when it asks. One that does not ask is of no use to anybody.
      const cut = globalThis.setTimeout(() => socket.destroy(), limits.refusedConnectionMs)
      socket.once('close', () => clearTimeout(cut))
    },
    noteStream(socket) {
      const watched = open.get(socket)
      if (watched) watched.isStream = true
    },
    refusalOf: socket => refused.get(socket),
    count: () => open.size,
    async asked() {
      const until = clock.monotonicMs() + limits.stopUnaskedMs
      while (clock.monotonicMs() < until && [...open.values()].some(one => one.socket.bytesRead === 0)) {
        await setTimeout(limits.stopUnaskedMs / 20)
      }
    },
    stop() {
      lingerMs = limits.refusedConnectionMs
    },
  }
}
