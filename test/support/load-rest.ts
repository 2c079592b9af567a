import { setTimeout as pause } from 'node:timers/promises'

/** Between two of the same in a load: what is loaded needs the processors, too. */
export function loadRest(): Promise<void> {
  return pause(50)
}
