/**
 * What a test file gets for `tap` where several of them run in one process (group.ts): `t` of its own, whose end is the end of the file.
 */

import { t as root, type Test } from 'tap'

export * from 'tap'

/** Of the file that runs now: files run one after another, and each import of it sees the change. */
let current: Test = root

// biome-ignore lint/style/noDefaultExport: tap's is one.
export { current as default }

export function beginFile(t: Test): void {
  current = t
}
