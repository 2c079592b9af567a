import { durationMs } from '../../config/duration.ts'
import type { Config } from '../../config/load.ts'

/** How long a request of the API may take to arrive, and its answer to be read. */
export interface HttpTimes {
  readonly headerMs: number
  /** Never shorter than `headerMs`: the header is part of it. */
  readonly requestMs: number
  readonly writeMs: number
}

export function httpTimes({ http }: Config): HttpTimes {
  const headerMs = durationMs(http.header_timeout)
  return {
    headerMs,
    requestMs: Math.max(headerMs, durationMs(http.request_timeout)),
    writeMs: durationMs(http.write_timeout),
  }
}
