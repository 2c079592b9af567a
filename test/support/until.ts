import { setTimeout as pause } from 'node:timers/promises'

/**
 * Waits until `condition` gives something other than undefined or false, and gives that. Throws when it has not within
 * `timeoutMs`, saying what was waited for.
 */
export async function until<T>(
  what: string,
  condition: () => T | undefined | false | Promise<T | undefined | false>,
  timeoutMs = 30_000,
): Promise<T> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const value = await condition()
    if (value !== undefined && value !== false) return value
    if (performance.now() > deadline) throw new Error(`waited ${timeoutMs} ms in vain for: ${what}`)
    await pause(20)
  }
}
