import { limits } from '../../base/limits.ts'
import { createThrottle, type Throttle } from '../../base/throttle.ts'
import type { App } from '../app/app.ts'

/** How often one may ask, at all doors together that take API keys; of all nodes together, each has its share of it. */
export interface Throttles {
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address, and for the block that it is in. */
  readonly perAddress: Throttle
  readonly perBlock: Throttle
  /** For the pages that browsers open, for each client address. */
  readonly perVisitor: Throttle
}

export function createThrottles({
  clock,
  config,
  nodes,
}: Pick<App, 'clock' | 'config' | 'nodes'>): Throttles {
  const shared = (perMinute: number) => createThrottle(clock, perMinute, () => nodes.count)
  return {
    perKey: shared(config.http.requests_per_minute),
    perAddress: shared(limits.failedKeysPerMinute),
    perBlock: shared(limits.failedKeysPerMinuteOfBlock),
    perVisitor: shared(limits.confirmPageRequestsPerMinute),
  }
}
