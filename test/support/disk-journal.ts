import { execFileSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryDir } from './temporary-dir.ts'

interface Common {
  /** Where its record begins in the journal. */
  readonly at: number
  readonly path: string
}

export interface NameStep extends Common {
  readonly what: 'create' | 'mkdir' | 'unlink'
}
export interface RenameStep extends Common {
  readonly what: 'rename' | 'link'
  readonly to: string
}
export interface WriteStep extends Common {
  readonly what: 'write'
  readonly offset: number
  readonly bytes: Buffer
}
export interface TruncateStep extends Common {
  readonly what: 'truncate'
  readonly length: number
}
export interface SyncStep extends Common {
  readonly what: 'sync begin' | 'sync end'
  readonly token: string
}

/** One thing that a program did to its files. */
export type Step = NameStep | RenameStep | WriteStep | TruncateStep | SyncStep

export interface DiskJournal {
  /** What programs are started with, so that what they do to the files below `root` is written down. */
  readonly env: Record<string, string>
  /** How much is written down by now: what a program answered before, it did before. */
  length(): number
  /** All of it, by its order. */
  steps(): Step[]
}

const kinds = [
  'create',
  'mkdir',
  'write',
  'truncate',
  'sync begin',
  'sync end',
  'rename',
  'unlink',
  'link',
] as const
const headBytes = 24

/** The journal of the files below `root`, by a library that is loaded before the system's (disk-journal.c). */
export function journalDisk(t: Test, root: string): DiskJournal {
  const dir = temporaryDir(t)
  const library = join(dir, 'disk-journal.so')
  const journal = join(dir, 'journal')
  const source = join(import.meta.dirname, 'disk-journal.c')
  execFileSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source], { stdio: 'inherit' })
  writeFileSync(journal, '')
  return {
    env: { LD_PRELOAD: library, DISK_ROOT: root, DISK_JOURNAL: journal },
    length: () => statSync(journal).size,
    steps: () => readSteps(readFileSync(journal)),
  }
}

function readSteps(journal: Buffer): Step[] {
  const steps: Step[] = []
  let at = 0
  while (at < journal.length) {
    const what = kinds[journal.readUInt32LE(at) - 1]!
    const pathEnd = at + headBytes + journal.readUInt32LE(at + 4)
    const number = journal.readBigUInt64LE(at + 8)
    const end =
      pathEnd +
      (what === 'write' || what === 'rename' || what === 'link'
        ? Number(journal.readBigUInt64LE(at + 16))
        : 0)
    const path = journal.toString('utf8', at + headBytes, pathEnd)
    const bytes = journal.subarray(pathEnd, end)
    const step = { at, path }
    if (what === 'write') steps.push({ ...step, what, offset: Number(number), bytes })
    else if (what === 'rename' || what === 'link') steps.push({ ...step, what, to: bytes.toString() })
    else if (what === 'truncate') steps.push({ ...step, what, length: Number(number) })
    else if (what === 'sync begin' || what === 'sync end')
      steps.push({ ...step, what, token: String(number) })
    else steps.push({ ...step, what })
    at = end
  }
  return steps
}
