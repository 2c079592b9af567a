/** The same with each number the median of those that stand there in all of them. */
export function mediansOf<T>(all: readonly T[]): T {
  const [first] = all
  if (typeof first === 'number') {
    const sorted = (all as readonly unknown[] as number[]).toSorted((one, other) => one - other)
    const at = (place: number) => sorted[place]!
    return ((at((sorted.length - 1) >> 1) + at(sorted.length >> 1)) / 2) as T
  }
  if (typeof first !== 'object' || first === null || Array.isArray(first)) return first as T
  return Object.fromEntries(
    Object.keys(first).map(name => [name, mediansOf(all.map(one => one[name as keyof T]))]),
  ) as T
}
