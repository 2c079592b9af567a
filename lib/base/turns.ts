import { setImmediate } from 'node:timers/promises'

/** Bytes of work after which a long computation lets others have the event loop, and until which a short one does not. */
export const sliceBytes = 1024 * 1024
export const unpacedBytes = 256 * 1024

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
 * The pace of one long computation: `sliceBytes` in one turn of the event loop, of all such computations in the
 * process together. A short one, of `unpacedBytes`, waits for nobody.
 */
export function createPace(): Pace {
  let room: number = unpacedBytes
  return async bytes => {
    if (bytes > room) {
      await takePacedTurn()
      room = sliceBytes
    }
    room -= bytes
  }
}
