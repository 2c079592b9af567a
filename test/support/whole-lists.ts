/**
 * `t.match(list, [a, b])` means these two and no more. tap lets a longer list pass (and any list where the pattern is `[]`), so that what is there twice or
 * should not be there at all goes unnoticed. Loaded before each test file (test-file.ts). Where a list has at least something, a test says which entries it means:
 * `t.match(list.slice(0, 2), [a, b])`, `t.match(list.at(-1), b)`.
 */

import { isMainThread } from 'node:worker_threads'

// Each thread that a test starts would load it, too.
if (isMainThread) {
  const { Format, Match } = await import('tcompare')
  // `Match` has it from `Has`, which cuts the list to the length of the pattern first.
  const whole = Object.getOwnPropertyDescriptor(Format.prototype, 'objectAsArray')
  if (!whole) throw new Error('tcompare reads lists in another way now')
  Object.defineProperty(Match.prototype, 'objectAsArray', whole)
}
