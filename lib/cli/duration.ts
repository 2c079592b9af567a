import { InvalidArgumentError } from 'commander'
import { durationMs } from '../config/duration.ts'

/** Reads an option that is a time as settings write it. */
export function duration(text: string): string {
  try {
    durationMs(text)
  } catch {
    throw new InvalidArgumentError('want a time such as 30m, 2h or 3d')
  }
  return text
}
