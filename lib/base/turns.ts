import { setImmediate } from 'node:timers/promises'
import { limits } from './limits.ts'

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

const takePacedTurn = takeTurns()

/**
 * Asked before each piece of a long computation, with how many bytes it works on.
 * @returns when it may be done: at once, or in a turn of the event loop in which nobody else computes so
 */
export type Pace = (bytes: number) => Promise<void>

/**
 * The pace of one long computation: `limits.sliceBytes` in one turn of the event loop, of all such computations in the
 * process together. A short one, of `limits.unpacedBytes`, waits for nobody.
 */
export function createPace(): Pace {
  let room: number = limits.unpacedBytes
  return async bytes => {
    if (bytes > room) {
      await takePacedTurn()
      room = limits.sliceBytes
    }
    room -= bytes
  }
}
