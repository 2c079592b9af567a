import { programVersion } from '../base/package-root.ts'
import { runMailboxctl } from './program.ts'

/** Runs mailboxctl with what it was called with; gives the exit code. */
export function main(): Promise<number> {
  return runMailboxctl(process.argv.slice(2), programVersion(), process.env, async shell => {
    const { completions } = await import('./completions.ts')
    return completions[shell]
  })
}
