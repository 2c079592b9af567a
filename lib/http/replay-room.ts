import { Problem } from '../base/problem.ts'
import type { EventSink } from '../core/app/stream.ts'
import type { AnswerOwner, AnswerRoom } from './answer-room.ts'

/** The connection that a stream goes over. */
export interface StreamConnection {
  readonly isOver: boolean
  /** Calls `listener` when it is over. */
  onceOver(listener: () => void): void
  cut(): void
}

/**
 * The room for what is made for one reader of the stream alone: its texts are answers that may stay unread, as large lists
 * are, and share the same room.
 */
export function createReplayRoom(
  answers: AnswerRoom,
  shares: readonly AnswerOwner[],
  connection: StreamConnection,
): EventSink['enter'] {
  const leaving = new Set<() => void>()
  const ended = new AbortController()
  connection.onceOver(() => {
    // Who goes away while he waits for room is no fault of this server.
    ended.abort(new Problem('unavailable'))
    for (const leave of leaving) leave()
    leaving.clear()
  })
  return async bytes => {
    let leave = () => {}
    const share = await answers.enter(bytes, {
      shares,
      signal: () => ended.signal,
      cut: () => connection.cut(),
      whenOver(left) {
        leave = left
        if (connection.isOver) left()
        else leaving.add(left)
      },
    })
    return {
      become: share.become,
      leave() {
        leaving.delete(leave)
        leave()
      },
    }
  }
}
