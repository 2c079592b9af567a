import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryDir } from './temporary-dir.ts'

export interface ClockStep {
  /** What a program is started with, so that its clock can be set. */
  readonly env: Record<string, string>
  /** From now on its clock shows so many seconds more than that of the machine, or less. */
  set(seconds: number): void
}

/** A clock that can be set for one program, by a library that is loaded before the system's. */
export function clockStep(t: Test): ClockStep {
  const dir = temporaryDir(t)
  const library = join(dir, 'clock-step.so')
  const path = join(dir, 'step')
  const source = join(import.meta.dirname, 'clock-step.c')
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'inherit' })
  const fd = openSync(path, 'w+')
  t.teardown(() => closeSync(fd))
  const set = (seconds: number) => {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(seconds))
    writeSync(fd, bytes, 0, 8, 0)
  }
  set(0)
  return { env: { LD_PRELOAD: library, CLOCK_STEP: path }, set }
}
