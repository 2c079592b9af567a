import { programVersion } from '../base/package-root.ts'
import { runMailboxctl } from './program.ts'

/** Runs mailboxctl as this version of the program; gives the exit code. */
export function main(
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<number> {
  return runMailboxctl(argv, programVersion(), environment, async shell => {
    const { completions } = await import('./completions.ts')
    return completions[shell]
  })
}
