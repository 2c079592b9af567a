import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../test/support/program.ts'

/** The path of a program as a user runs it. */
export const launcher = (name: string) => fileURLToPath(new URL(`../bin/${name}`, import.meta.url))

/** What one run of a program took. CPU time is told to 10 ms. */
export interface Call {
  readonly wallMs: number
  readonly cpuMs: number
}

/** Runs a program to its end; throws when that is a failure. */
export async function call(program: string, args: readonly string[]): Promise<Call> {
  const [before, startedAt] = [endedChildrenMs(), performance.now()]
  const run = await runProgram(program, args)
  if (run.code !== 0) throw new Error(`${program} ended with ${run.code}: ${run.stderr}`)
  return { wallMs: performance.now() - startedAt, cpuMs: endedChildrenMs() - before }
}

/** User and system time of the children of this process that have ended (proc(5): cutime, cstime), to 10 ms. */
function endedChildrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}
