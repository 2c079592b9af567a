import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')
/** Set by test/run.ts, which builds once for all the files that it runs. */
const isBuilt = 'MAILBOXD_TESTS_BUILT'

/** Makes dist/ from the sources; the programs that the tests start are these, as they ship. */
export function buildOnce(): void {
  if (process.env[isBuilt]) return
  execFileSync(process.execPath, [join(root, 'bin', 'build-changed.ts')], { stdio: 'inherit' })
  process.env[isBuilt] = 'yes'
}

/** The path of a built program. */
export function builtProgram(name: 'mailboxd' | 'mailboxctl'): string {
  buildOnce()
  return join(root, 'dist', 'bin', `${name}.js`)
}
