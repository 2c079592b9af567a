import { setTimeout as pause } from 'node:timers/promises'
import { databasePath } from '../../lib/core/open-rows.ts'
import type { TestDaemon } from './daemon.ts'
import { type Figures, readFigures, sizeOf } from './process-figures.ts'

const mebibyte = 1024 * 1024

/** What a daemon took at one moment. */
export interface Seen {
  figures: Figures
  logBytes: number
  loopDelayMs: number
}

/** Says whether so many seconds are over. */
export function timeFor(seconds: number): () => boolean {
  const endsAt = performance.now() + seconds * 1000
  return () => performance.now() >= endsAt
}

/** What one daemon takes, looked at every second until it ends. */
export async function watch(daemon: TestDaemon, seen: Seen[], isOver: () => boolean): Promise<void> {
  const url = daemon.metricsUrl()
  let before = readFigures(daemon.process.pid!)
  while (!isOver() && before) {
    await pause(1_000)
    const text = await fetch(url).then(
      answer => answer.text(),
      () => '',
    )
    const figures = readFigures(daemon.process.pid!)
    const lag = /^mailboxd_nodejs_eventloop_lag_p90_seconds (\S+)$/m.exec(text)?.[1]
    if (!figures || lag === undefined) return
    const ranMs = figures.ranMs - before.ranMs
    const stretch = (ranMs + figures.waitedMs - before.waitedMs) / Math.max(1, ranMs)
    before = figures
    const logBytes = sizeOf(`${databasePath(daemon.dataDir)}-wal`)
    seen.push({ figures, logBytes, loopDelayMs: (Number(lag) * 1000) / Math.max(1, stretch) })
  }
}

/** The value that a share of all are not above. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

/** The most of each, and how late the loop is in nineteen of twenty seconds. */
export function summary(seen: readonly Seen[]): string {
  const most = (of: (one: Seen) => number) => Math.round(Math.max(...seen.map(of)))
  const delay = Math.round(
    quantile(
      seen.map(one => one.loopDelayMs),
      0.95,
    ),
  )
  return `${most(one => one.figures.rssBytes / mebibyte)} MB, ${most(one => one.figures.descriptors)} descriptors, log ${most(one => one.logBytes / mebibyte)} MB, loop ${delay} ms late`
}
