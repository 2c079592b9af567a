import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

/** Whether one of this name is of the half that rules are not written by: by a hash, so that nobody chose. */
export function isHeldBack(name: string): boolean {
  return createHash('sha256').update(name).digest()[0]! % 2 === 1
}

/** What stands in a file of test/data/written: `bounces`, and `bounces-2`, which was written when the rules for the first one stood. */
export function readWritten<T>(name: string): T[] {
  const lines = readFileSync(new URL(`../data/written/${name}.jsonl`, import.meta.url), 'utf8').trimEnd()
  return lines.split('\n').map(line => JSON.parse(line))
}
