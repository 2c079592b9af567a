import type { HeldServer } from '../../base/held-server.ts'
import { StorageUnreachable } from '../../base/storage-fault.ts'
import type { Hold } from './reached.ts'

/** A hold as another thread has it, in this one, which is told what becomes of it. */
export interface FollowedHold extends Hold {
  tell(held: HeldServer): void
}

/** @param held what it is at first */
export function followHold(held: HeldServer): FollowedHold {
  const listeners = new Set<(error: StorageUnreachable) => void>()
  let now = held
  return {
    async server() {
      if ('lost' in now) throw StorageUnreachable.of(now)
      return now
    },
    // What is dated goes to the main thread, which looks.
    requireSteady() {},
    onLost(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    tell(told) {
      now = told
      if ('lost' in told) for (const listener of listeners) listener(StorageUnreachable.of(told))
    },
  }
}
