import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A new directory that goes with the test, at a place that servers which drop their rights can reach. */
export function temporaryDir(t: Test): string {
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-test-'))
  t.teardown(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5 }))
  return dir
}
