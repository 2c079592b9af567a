import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Worked, workedSince } from './loop-load.ts'

/** What is asked of this process; another one in tests. */
export interface HeapParts {
  /** The share of the time since `before` in which the event loop worked, and what the next call takes as that. */
  readonly worked: (before: unknown) => Worked
  readonly collect: () => void
}

/** When is looked whether nothing is done. */
export interface IdleLooks {
  readonly lookMs: number
  /** It is collected anew after each so many looks that found nothing done: threads end later than the work, and what is done each hour is no work. */
  readonly againLooks: number
}

/** A loop that works less than this is idle: health checks and the timed sweeps go on. */
const idleShare = 0.05

/**
 * Collects the garbage when nothing is done after work was, and again as long as nothing is, and gives freed memory back to the system:
 * V8 collects while memory is asked for and not afterwards, and both it and the C library keep what a start or a burst has taken. It
 * takes some 30 ms, in a time when nobody waits.
 */
export function startIdleHeap(
  { lookMs, againLooks }: IdleLooks,
  parts: HeapParts = ofThisProcess,
): { stop(): void } {
  let idleLooks = 0
  let before: unknown
  const timer = setInterval(() => {
    const { share, next } = parts.worked(before)
    before = next
    idleLooks = share >= idleShare ? 0 : idleLooks + 1
    if (idleLooks === 1 || (idleLooks > 0 && idleLooks % againLooks === 0)) parts.collect()
  }, lookMs).unref()
  return { stop: () => clearInterval(timer) }
}

const ofThisProcess: HeapParts = {
  worked: workedSince,
  collect() {
    setFlagsFromString('--expose-gc')
    const gc: (options: object) => void = runInNewContext('gc')
    setFlagsFromString('--no-expose-gc')
    // As where memory is short: what was compiled and is not used goes, too.
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
    giveBack()
  },
}

let trim: ((keptBytes: bigint) => number) | undefined

/** malloc_trim(3) for all arenas: glibc keeps freed memory below what is in use. Another C library has none, and keeps less. */
function giveBack(): void {
  if (process.platform !== 'linux') return
  try {
    trim ??= openTrim()
    trim(0n)
  } catch {
    trim = () => 0
  }
}

function openTrim(): (keptBytes: bigint) => number {
  const ffi = process.getBuiltinModule('node:ffi') as typeof import('node:ffi') | undefined
  if (!ffi) throw new Error('this Node has no node:ffi')
  const { functions } = ffi.dlopen('libc.so.6', { malloc_trim: { arguments: ['uint64'], return: 'int32' } })
  return functions.malloc_trim
}
