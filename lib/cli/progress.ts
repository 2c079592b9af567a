import { setPriority } from 'node:os'
import { systemClock } from '../base/time.ts'

/** How often a terminal is told how far it is. */
const toldMs = 100

/** Tells on a terminal how far long work has come, on one line of standard error that is gone at its end. */
export interface ProgressLine {
  told(step: string, done: number, of: number): void
  end(): void
}

/** @param isShown false where nobody looks: then it is silent */
export function createProgress(isShown: boolean): ProgressLine {
  let toldAt = Number.NEGATIVE_INFINITY
  let isOpen = false
  const show = isShown && process.stderr.isTTY === true
  return {
    told(step, done, of) {
      if (!show) return
      const now = systemClock.monotonicMs()
      if (now - toldAt < toldMs) return
      toldAt = now
      isOpen = true
      const part = of > 0 ? Math.floor((done / of) * 100) : 100
      process.stderr.write(`\r\x1b[K${step} ${part} %`)
    },
    end() {
      if (isOpen) process.stderr.write('\r\x1b[K')
      isOpen = false
    },
  }
}

/** For long work beside a daemon: who has a higher number gets the processor after the others. */
export function letOthersGoFirst(): void {
  setPriority(10)
}
