import type { Log } from './log.ts'
import type { Clock } from './time.ts'

/** Something that may stop working for a while. That it did, and that it works again, is told once each. */
export interface Outage {
  /** Whether it was told, and its end was not. */
  readonly isTold: boolean
  /** @param about what the line of its begin has with it */
  failed(about: object): void
  worked(): void
}

export interface OutageWords {
  readonly begin: string
  readonly end: string
  /** Failures in a row, and the milliseconds from the first of them, until it is taken for an outage; at once unless told. */
  readonly failures?: number
  readonly lastingMs?: number
  /** How long it must work before it is taken for over, so that what works now and then is one outage; over at once unless told. */
  readonly steadyMs?: number
}

/** The line of its end has with it how many failed meanwhile, and for how long. */
export function createOutage(
  { clock, log }: { readonly clock: Pick<Clock, 'monotonicMs'>; readonly log: Log },
  { begin, end, failures = 1, lastingMs = 0, steadyMs = 0 }: OutageWords,
): Outage {
  let count = 0
  let since = 0
  let isTold = false
  /** Since when it works again. */
  let steadySince: number | undefined
  return {
    get isTold() {
      return isTold
    },
    failed(about) {
      const now = clock.monotonicMs()
      if (count === 0) since = now
      count++
      steadySince = undefined
      if (isTold || count < failures || now - since < lastingMs) return
      isTold = true
      log.error(about, begin)
    },
    worked() {
      if (isTold) {
        const now = clock.monotonicMs()
        steadySince ??= now
        if (now - steadySince < steadyMs) return
        log.warn({ failed: count, lastedMs: Math.round(steadySince - since) }, end)
      }
      isTold = false
      count = 0
    },
  }
}
