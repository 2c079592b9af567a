/** So many at once; who has to wait comes in his order. */
export interface Places {
  /**
   * Gives what leaves the place.
   * @param isLate whether all who are not come before
   */
  enter(isLate: boolean): Promise<() => void>
  /** The same; gives undefined where no place was free in time. */
  enterInTime(inTime: AbortSignal): Promise<(() => void) | undefined>
}

interface Waiting {
  readonly come: () => void
  readonly isLate: boolean
}

export function createPlaces(count: number): Places {
  const waiting: Waiting[] = []
  let free = count

  function leave(): void {
    const next = waiting.findIndex(({ isLate }) => !isLate)
    const [one] = waiting.splice(Math.max(next, 0), 1)
    if (one) one.come()
    else free++
  }

  return {
    async enter(isLate) {
      if (free > 0) free--
      else await new Promise<void>(come => waiting.push({ come, isLate }))
      return leave
    },
    async enterInTime(inTime) {
      if (inTime.aborted) return undefined
      if (free > 0) {
        free--
        return leave
      }
      return new Promise(resolve => {
        const one = { come: () => resolve(leave), isLate: false }
        waiting.push(one)
        inTime.addEventListener('abort', () => {
          const at = waiting.indexOf(one)
          if (at >= 0) waiting.splice(at, 1)
          // Who has come by then has been told.
          resolve(undefined)
        })
      })
    },
  }
}
