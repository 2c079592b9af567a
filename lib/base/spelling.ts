/** How many letters must be put in, taken out, changed or swapped with the next to make `b` of `a` (Damerau–Levenshtein). */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? (before[j - 2] ?? 0) + 1 : change
      next.push(Math.min(change, swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[b.length] ?? 0
}

/** The one of `words` that `typed` is most likely a misspelling of; undefined when none is near. The first wins a tie. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  if (typed.length > 40) return undefined
  const ranked = words
    .map(word => ({ word, distance: editDistance(typed.toLowerCase(), word.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(best.word.length / 3)) ? best.word : undefined
}
