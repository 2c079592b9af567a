import { limits } from '../../base/limits.ts'
import { createThrottle, type Throttle } from '../../base/throttle.ts'
import type { App } from '../app/app.ts'

/** How often one may ask, at all doors together that take API keys. */
export interface Throttles {
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address. */
  readonly perAddress: Throttle
}

export function createThrottles({ clock, config }: Pick<App, 'clock' | 'config'>): Throttles {
  return {
    perKey: createThrottle(clock, config.http.requests_per_minute),
    perAddress: createThrottle(clock, limits.failedKeysPerMinute),
  }
}
