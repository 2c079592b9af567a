/** How much of that is left to peers and clients in the middle of something, and to what is carried. */
export const stopPeersMs = 3_000
/** How often the time limits of requests are looked at. */
export const requestsWatchMs = 1_000

/** What the work comes to, or `instead` when it takes longer than that; the work itself goes on, and nobody hears of it any more. */
export async function inTime<T>(work: Promise<T>, ms: number, instead: () => T): Promise<T> {
  const { promise: late, resolve } = Promise.withResolvers<T>()
  const timer = setTimeout(() => resolve(instead()), ms)
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
