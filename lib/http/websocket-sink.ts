import type { WebSocket } from 'ws'
import { streamFrames, streamFramesMs, streamPingMs } from '../api/event-stream.ts'
import { streamsPerKey } from '../base/problem.ts'
import type { Clock } from '../base/time.ts'
import type { EventSink, StreamEnd } from '../core/app/stream.ts'
import type { StreamConnection } from './memory.ts'

/** Bytes that may wait to be read by one client. */
export const streamBufferBytes = 256 * 1024
/** After so long without its pong a WebSocket client is cut off (RFC 6455 §5.5.2). */
export const streamPongMs = 10_000
/** What a closing handshake may take; less than `stopMs`. */
export const streamCloseMs = 2_000
/** The same for a reader that was too slow, and has to read what waits for it before it comes to the close frame. */
const streamSlowCloseMs = 30_000

/** Close codes (RFC 6455 §7.4): those of the protocol, and those of ours from 4000 on. */
const closeCodes = {
  stopping: [1001, 'The server is stopping.'],
  fault: [1011, 'Something went wrong on the server.'],
  full: [1013, 'Too many streams are open. Try again shortly.'],
  unauthorised: [4001, 'There is no such key, or it was revoked.'],
  revoked: [4001, 'The key was revoked.'],
  forbidden: [4003, 'The key reaches none of these inboxes.'],
  tooManyStreams: [4008, `A key may have ${streamsPerKey} streams open.`],
  slow: [4009, 'You read too slowly. Connect again with last_event_id.'],
  tooManyMessages: [4029, `More than ${streamFrames} messages in ${streamFramesMs / 1000} s.`],
} as const satisfies Record<StreamEnd | string, readonly [code: number, reason: string]>

/** Closes with a handshake that has its time; after it the connection is cut. A slow reader first has to come to it. */
export function closeWebSocket(socket: WebSocket, why: keyof typeof closeCodes): void {
  const [code, reason] = closeCodes[why]
  socket.close(code, reason)
  cutLater(socket, why === 'slow' ? streamSlowCloseMs : streamCloseMs)
}

/** Cuts a connection that is being closed, when that takes too long. */
export function cutLater(socket: WebSocket, afterMs: number = streamCloseMs): void {
  const timer = setTimeout(() => socket.terminate(), afterMs)
  socket.once('close', () => clearTimeout(timer))
}

/** Where the events of a WebSocket go; also pings its client. */
export function createWebSocketSink(
  socket: WebSocket,
  clock: Clock,
  roomOf: (connection: StreamConnection) => EventSink['enter'],
): EventSink {
  let heardAt = clock.monotonicMs()
  let pingedAt: number | undefined
  let makeRoom: (() => void) | undefined
  const drained = () => {
    if (!makeRoom || socket.bufferedAmount > streamBufferBytes / 2) return
    makeRoom()
    makeRoom = undefined
  }
  socket.on('pong', () => {
    heardAt = clock.monotonicMs()
    pingedAt = undefined
  })
  return {
    write: (_event, body, sent) =>
      socket.send(body, { binary: false }, () => {
        sent?.()
        drained()
      }),
    enter: roomOf({
      get isOver() {
        return socket.readyState === socket.CLOSED
      },
      onceOver: listener => void socket.once('close', listener),
      cut: () => socket.terminate(),
    }),
    isFull: () => socket.bufferedAmount >= streamBufferBytes,
    drained: () =>
      new Promise(resolve => {
        makeRoom = resolve
      }),
    tick(nowMs) {
      if (pingedAt !== undefined) {
        if (nowMs - pingedAt >= streamPongMs) socket.terminate()
      } else if (nowMs - heardAt >= streamPingMs) {
        pingedAt = nowMs
        socket.ping()
      }
    },
    end: why => closeWebSocket(socket, why),
  }
}
