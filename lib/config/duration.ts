const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

const durationForm = /^([1-9][0-9]{0,8})(ms|s|m|h|d)$/

/** Milliseconds of a duration as settings write it: a whole number and one unit, such as `5m`. Throws on any other text. */
export function durationMs(text: string): number {
  const [, count, unit] = durationForm.exec(text) ?? []
  if (count === undefined || unit === undefined) throw new RangeError(`not a duration: ${text}`)
  return Number(count) * unitMs[unit as keyof typeof unitMs]
}

/** What is wrong with `text` as a duration, and the repair; undefined when nothing is. */
export function durationFault(text: string): string | undefined {
  if (durationForm.test(text)) return undefined
  return 'must be a whole number above 0 and one unit (ms, s, m, h or d) without a space, such as "30s" or "5m"'
}
