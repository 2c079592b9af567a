import { invalidRequest, type Problem } from '../base/problem.ts'
import { type Clock, requestsWatchMs } from '../base/time.ts'

/** What a body that holds memory must bring, and in which time: a slower one keeps it from others. */
export const bodyLeastBytes = 64 * 1024
export const bodyLeastMs = 10_000

/** A body that has not arrived completely. */
export interface ArrivingBody {
  /** How many bytes have arrived. */
  arrived(): number
  refuse(problem: Problem): void
}

/**
 * Refuses a body that holds memory and brings less than `bodyLeastBytes` in `bodyLeastMs`.
 * @returns a function that stops watching it
 */
export type WatchBody = (body: ArrivingBody) => () => void

export function createBodyWatch(clock: Pick<Clock, 'monotonicMs'>): WatchBody {
  /** How much of each body had arrived when it was last fast enough. */
  const watched = new Map<ArrivingBody, { bytes: number; at: number }>()
  let timer: NodeJS.Timeout | undefined

  function look(): void {
    const now = clock.monotonicMs()
    for (const [body, last] of watched) {
      const bytes = body.arrived()
      if (bytes - last.bytes >= bodyLeastBytes) watched.set(body, { bytes, at: now })
      else if (now - last.at >= bodyLeastMs) body.refuse(tooSlow())
    }
  }

  return body => {
    watched.set(body, { bytes: body.arrived(), at: clock.monotonicMs() })
    timer ??= setInterval(look, requestsWatchMs)
    return () => {
      watched.delete(body)
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}

function tooSlow(): Problem {
  return invalidRequest(
    'body',
    `came too slowly, with less than ${bodyLeastBytes} bytes in ${bodyLeastMs / 1000} seconds: send it again over a faster line, or send less`,
  )
}
