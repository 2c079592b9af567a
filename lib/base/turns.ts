import { setImmediate } from 'node:timers/promises'

/**
 * Gives its callers their turns, one in each turn of the event loop. SQLite answers at once, so who reads much of the
 * database would never let go of the loop, and many who do would leave little of it to others.
 */
export function takeTurns(): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  return () => {
    last = last.then(() => setImmediate())
    return last
  }
}
