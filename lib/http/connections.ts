import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout } from 'node:timers/promises'
import { blockOf, createAddressCount, networkOf } from '../base/network.ts'
import { Problem } from '../base/problem.ts'
import type { Clock } from '../base/time.ts'

/** How long a client that has just connected may take to ask when the daemon stops. */
const stopUnaskedMs = 500
/**
 * Answers that are not read: bytes that must be read in `http.write_timeout`, what may wait in all until the largest are
 * cut off, and how often one looks.
 */
export const answerBytesPerTimeout = 64 * 1024
export const answersBytes = 256 * 1024 * 1024
const answersWatchMs = 500
/** How long a connection over the limits may take to ask and to get the refusal as its answer. */
export const refusedConnectionMs = 2_000
/** How long they are read. */
export const lingerLongestMs = 30_000

/** The connections of the door: how many there may be, and how long one may leave its answers unread. */
export interface Connections {
  /** Counts a new connection until it is closed, and has it watched. */
  add(socket: Socket): void
  /**
   * Keeps the place of a connection from its accepted key until the answer has left; while the body is still arriving, connections without
   * a key make room first. Strangers hold no place for good, whatever they ask for.
   */
  noteCaller(request: IncomingMessage, response: ServerResponse): void
  /** Keeps the place of a connection that has become a stream, which has its own limit for unread bytes. */
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
  /** Gives its place back; undefined once it has none. */
  release: (() => void) | undefined
}

/** Open connections for each place: those without one were refused, or have their answer and wait for the other side to close. */
export const openPerPlace = 2

export function createConnections(clock: Clock, given: ConnectionLimits): Connections {
  const open = new Map<Duplex, Watched & { readonly socket: Socket }>()
  /** Connections are closed in this order, the oldest of each set first: without a place, without an accepted key, with a request and a key still arriving. */
  const over = new Set<Duplex>()
  const waiting = new Set<Duplex>()
  const uploading = new Set<Duplex>()
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
  let lingerMs: number = lingerLongestMs

  /** @returns how to give the place back, or why there is none */
  function take(address: string): (() => void) | Problem {
    const counted = given.isTrusted(address) ? [] : shares
    const full = counted.findIndex(share => !share.add(address))
    if (full >= 0) {
      for (const share of counted.slice(0, full)) share.remove(address)
      const { whose, max } = counted[full]!
      const message = `${whose} has ${max} connections open. Close one first.`
      return new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
    }
    if (places >= given.max) cutLongest(waiting, uploading)
    const release = () => {
      places--
      for (const share of counted) share.remove(address)
    }
    places++
    if (places <= given.max) return release
    release()
    return new Problem('unavailable', 'Too many connections are open. Try again shortly.')
  }

  /** Closes the connection that has been longest in the first of the sets that is not empty. */
  function cutLongest(...sets: readonly ReadonlySet<Duplex>[]): void {
    const [socket] = sets.find(set => set.size > 0) ?? []
    if (!socket) return
    forget(socket)
    socket.destroy()
  }

  function leavePlace(socket: Duplex): void {
    const watched = open.get(socket)
    watched?.release?.()
    if (watched) watched.release = undefined
    leaveSets(socket)
  }

  function leaveSets(socket: Duplex): void {
    waiting.delete(socket)
    uploading.delete(socket)
  }

  function forget(socket: Duplex): void {
    leavePlace(socket)
    over.delete(socket)
    open.delete(socket)
    if (open.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  function watch(): void {
    const now = clock.monotonicMs()
    let pending = 0
    for (const watched of open.values()) {
      const { socket } = watched
      const sent = socket.bytesWritten - socket.writableLength
      if (socket.writableLength === 0 || sent - watched.sent >= answerBytesPerTimeout) {
        watched.sent = sent
        watched.at = now
      } else if (!watched.isStream && now - watched.at >= given.writeTimeoutMs) socket.destroy()
      if (socket.writableEnded) watched.endedAt ??= now
      if (watched.endedAt !== undefined && now - watched.endedAt >= lingerMs) socket.destroy()
      pending += socket.writableLength
    }
    if (pending > answersBytes) cutLargest(pending)
  }

  /** Those that most waits for are cut off: each answer is small enough to be asked for again. */
  function cutLargest(pending: number): void {
    let left = pending
    const byPending = [...open.values()]
      .map(({ socket }) => socket)
      .sort((a, b) => b.writableLength - a.writableLength)
    for (const socket of byPending) {
      if (left <= answersBytes) return
      left -= socket.writableLength
      socket.destroy()
    }
  }

  return {
    add(socket) {
      const now = clock.monotonicMs()
      const watched = { socket, isStream: false, sent: 0, at: now, endedAt: undefined, release: undefined }
      open.set(socket, watched)
      timer ??= setInterval(watch, answersWatchMs)
      socket.once('close', () => forget(socket))
      // Its answer was given: how long the other side takes to close must not keep others out.
      socket.once('finish', () => {
        if (!open.has(socket)) return
        leavePlace(socket)
        over.add(socket)
      })
      const taken = take(socket.remoteAddress ?? '')
      if (taken instanceof Problem) {
        refused.set(socket, taken)
        over.add(socket)
        // The answer to its first request says so. One that asks nothing is closed.
        const cut = globalThis.setTimeout(() => socket.destroy(), refusedConnectionMs)
        socket.once('close', () => clearTimeout(cut))
      } else {
        open.get(socket)!.release = taken
        waiting.add(socket)
      }
      if (open.size >= openPerPlace * given.max) cutLongest(over, waiting, uploading)
    },
    noteCaller(request, response) {
      const { socket } = request
      const keep = () => leaveSets(socket)
      if (!waiting.delete(socket)) return
      if (!request.complete) {
        uploading.add(socket)
        request.once('end', keep)
      }
      // Before the listener that begins the next request of this connection.
      response.prependOnceListener('close', () => {
        request.off('end', keep)
        uploading.delete(socket)
        if (open.get(socket)?.release) waiting.add(socket)
      })
    },
    noteStream(socket) {
      const watched = open.get(socket)
      if (watched) watched.isStream = true
      leaveSets(socket)
    },
    refusalOf: socket => refused.get(socket),
    count: () => open.size,
    async asked() {
      const until = clock.monotonicMs() + stopUnaskedMs
      while (clock.monotonicMs() < until && [...open.values()].some(one => one.socket.bytesRead === 0)) {
        await setTimeout(stopUnaskedMs / 20)
      }
    },
    stop() {
      lingerMs = refusedConnectionMs
    },
  }
}
