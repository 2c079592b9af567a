import { durationFault, durationMs } from './duration.ts'
import { formats } from './format.ts'

/** Whether a text has the form of each name. */
export const formatChecks: Readonly<Record<string, (text: string) => boolean>> = Object.fromEntries(
  Object.entries(formats).map(([name, { fault }]) => [name, (text: string) => fault(text) === undefined]),
)

/** Whether a duration lies within these bounds. What is no duration at all is the format's to say. */
export function isBetween([least, most]: readonly [string, string], text: string): boolean {
  if (durationFault(text) !== undefined) return true
  return durationMs(text) >= durationMs(least) && durationMs(text) <= durationMs(most)
}
