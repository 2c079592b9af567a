import { createThrottle, type Throttle } from '../../base/concurrency.ts'
import type { App } from '../app/app.ts'

/** Requests a minute from one address to the page on which forwarding is confirmed. */
export const confirmPageRequestsPerMinute = 30
/** Failed authentications a minute of one address (of IPv6, one /64), at all doors that take keys; and of its block at the doors of submission. */
export const failedKeysPerMinute = 60
const failedKeysPerMinuteOfBlock = 300

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
    perAddress: shared(failedKeysPerMinute),
    perBlock: shared(failedKeysPerMinuteOfBlock),
    perVisitor: shared(confirmPageRequestsPerMinute),
  }
}
