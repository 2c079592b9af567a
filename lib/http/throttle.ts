import type { Throttle } from '../base/concurrency.ts'
import { Problem } from '../base/problem.ts'

/** @throws Problem `rate_limit_exceeded` when there is none to be taken */
export function takeOrRefuse(throttle: Throttle, name: string): void {
  const retryAfterSeconds = throttle.take(name)
  if (retryAfterSeconds > 0) throw new Problem('rate_limit_exceeded', undefined, { retryAfterSeconds })
}
