/**
 * How often the event loop came round while `work` was done. Computed in one piece it is a few times, however long that
 * takes; in slices it is once for each.
 */
export async function turnsDuring<T>(work: () => Promise<T>): Promise<{ result: T; turns: number }> {
  let turns = 0
  let isDone = false
  // Unreferenced, it is called in each turn but makes none: a loop that waits for a thread stands still.
  const next = () => {
    if (!isDone) setImmediate(count).unref()
  }
  const count = () => {
    turns++
    next()
  }
  next()
  try {
    return { result: await work(), turns }
  } finally {
    isDone = true
  }
}
