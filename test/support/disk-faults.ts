import { execFileSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryDir } from './temporary-dir.ts'

/** One kind of call that fails, on files whose path ends so, or has what stands behind a `*` in it. */
export interface DiskFault {
  readonly call: 'sync' | 'write' | 'create'
  readonly on: string
  readonly with: 'EIO' | 'ENOSPC' | 'EROFS'
}

/** An fsync that does not come to its end as long as this stands. */
export interface HeldSync {
  readonly call: 'hold'
  readonly on: string
}

export interface DiskFaults {
  /** What a program is started with, so that its disk fails as it is told. */
  readonly env: Record<string, string>
  /** From now on these calls fail, and no others; and the disk says that it has so many free blocks, if it is told to. */
  set(faults: readonly (DiskFault | HeldSync)[], freeBlocks?: number): void
}

/** A disk that fails for one program, by a library that is loaded before the system's. */
export function diskFaults(t: Test): DiskFaults {
  const dir = temporaryDir(t)
  const library = join(dir, 'disk-faults.so')
  const faults = join(dir, 'faults')
  const source = join(import.meta.dirname, 'disk-faults.c')
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl'], { stdio: 'inherit' })
  return {
    env: { LD_PRELOAD: library, DISK_FAULTS: faults },
    set(wanted, freeBlocks) {
      const lines = wanted.map(
        one => `${one.call} ${one.on} ${one.call === 'hold' ? 1 : constants.errno[one.with]}\n`,
      )
      if (freeBlocks !== undefined) lines.push(`statfs - ${freeBlocks}\n`)
      // Whole, or not at all.
      writeFileSync(`${faults}.next`, lines.join(''))
      renameSync(`${faults}.next`, faults)
    },
  }
}
