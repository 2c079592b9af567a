import { setTimeout as pause } from 'node:timers/promises'

/** It looks again after an eighth of the time that it has waited, within these: a look is often a request, or a process. */
const leastRestMs = 10
const mostRestMs = 100

/**
 * Waits until `condition` gives something other than undefined or false, and gives that. Throws when it has not within
 * `timeoutMs`, saying what was waited for.
 */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 30_000,
): Promise<T> {
  const begunMs = performance.now()
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== false) return value
    const waitedMs = performance.now() - begunMs
    if (waitedMs > timeoutMs) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`)
    await pause(Math.min(Math.max(leastRestMs, waitedMs / 8), mostRestMs))
  }
}
