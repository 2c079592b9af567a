import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Transferable } from 'node:worker_threads'
import { DatabaseDamaged, type Lost, StorageContended, StorageLocked, StorageUnreachable } from './faults.ts'
import { packageRoot } from './package-root.ts'
import { Reply } from './reply.ts'
import type { Clock } from './time.ts'

/** Functions that one thread does for another, by their names. What they take and give is plain data. */
type Served = Readonly<Record<string, (what: never) => Promise<unknown>>>

/** A call on its way to the other thread. */
export interface Call {
  readonly number: number
  readonly name: string
  readonly what: unknown
}

/** What came of it on its way back; of a Reply, which refuses, what it is made of. */
export type Answer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly reply: readonly [number, string, string, string] }
  | { readonly number: number; readonly outage: Lost }
  | { readonly number: number; readonly locked: string }
  | { readonly number: number; readonly contended: { readonly why: string; readonly code: string } }
  | { readonly number: number; readonly damaged: { readonly why: string; readonly code: string } }
  | { readonly number: number; readonly error: unknown }

export interface Caller<Functions extends Served> {
  /** @throws what the function throws there: a Reply and what the database can not do now as they are, of all else what crosses of an error */
  call<Name extends keyof Functions & string>(
    name: Name,
    what: Parameters<Functions[Name]>[0],
    transfer?: readonly Transferable[],
  ): Promise<Awaited<ReturnType<Functions[Name]>>>
  settle(answers: readonly Answer[]): void
}

/** @param post brings the calls of one turn of the event loop over together: to wake a thread costs more than a call */
export function createCaller<Functions extends Served>(
  post: (calls: readonly Call[], transfer: readonly Transferable[]) => void,
): Caller<Functions> {
  const waiting = new Map<number, PromiseWithResolvers<never>>()
  const put = createOutbox(post)
  let last = 0
  return {
    call(name, what, transfer) {
      const number = ++last
      const settled = Promise.withResolvers<never>()
      waiting.set(number, settled)
      put({ number, name, what }, transfer)
      return settled.promise
    },
    settle(answers) {
      for (const answer of answers) {
        const settled = waiting.get(answer.number)
        waiting.delete(answer.number)
        if ('value' in answer) settled?.resolve(answer.value as never)
        else if ('reply' in answer) settled?.reject(new Reply(...answer.reply))
        else if ('outage' in answer) settled?.reject(StorageUnreachable.of(answer.outage))
        else if ('locked' in answer) settled?.reject(new StorageLocked({ cause: answer.locked }))
        else if ('contended' in answer) settled?.reject(toldContended(answer.contended))
        else if ('damaged' in answer)
          settled?.reject(new DatabaseDamaged(answer.damaged.why, answer.damaged.code))
        else settled?.reject(answer.error)
      }
    },
  }
}

/** Does the calls that come from another thread; what is done in one turn of the event loop goes back together. */
export function createAnswerer(
  functions: Served,
  post: (answers: readonly Answer[]) => void,
): (calls: readonly Call[]) => void {
  const put = createOutbox<Answer>(post)
  return calls => {
    for (const { number, name, what } of calls) {
      functions[name]!(what as never).then(
        value => put({ number, value }),
        error => put(failed(number, error)),
      )
    }
  }
}

const toldContended = ({ why, code }: { readonly why: string; readonly code: string }) =>
  new StorageContended(new Error(why), code)

function failed(number: number, error: unknown): Answer {
  if (error instanceof StorageUnreachable) return { number, outage: error.lost }
  if (error instanceof StorageLocked) return { number, locked: String(error.cause) }
  if (error instanceof StorageContended) {
    const { cause, code } = error
    return { number, contended: { why: (cause as Error).message, code } }
  }
  if (error instanceof DatabaseDamaged) return { number, damaged: { why: error.message, code: error.code } }
  if (!(error instanceof Reply)) return { number, error }
  return { number, reply: [error.code, error.enhanced, error.text, error.reason] }
}

/** Gathers what is put in one turn of the event loop, and posts it at its end. */
export function createOutbox<Item>(
  post: (items: readonly Item[], transfer: readonly Transferable[]) => void,
): (item: Item, transfer?: readonly Transferable[]) => void {
  let items: Item[] = []
  let transfers: Transferable[] = []
  return (item, transfer = []) => {
    if (items.length === 0) {
      setImmediate(() => {
        const [posted, moved] = [items, transfers]
        items = []
        transfers = []
        post(posted, moved)
      })
    }
    items.push(item)
    transfers.push(...transfer)
  }
}

/** Connections to PostgreSQL of each thread that reads or indexes. */
export const postgresReaders = 2
/** Threads that hold SMTP sessions, where the setting does not say how many: one for each core, up to this. */
export const smtpThreadsMax = 8

/**
 * The file that a worker thread begins with. Where the sources run as they are, so does the worker's; the built programs
 * have it beside them (`bin/build.ts` finds them by the calls of this function).
 * @param name its path below lib, without the end: `reading/worker`
 */
export function threadEntry(name: string): string {
  const isSource = import.meta.filename.endsWith('.ts')
  return isSource
    ? join(packageRoot(), 'lib', `${name}.ts`)
    : join(packageRoot(), 'dist', 'lib', `${name}.js`)
}

/**
 * What a thread shows of itself in shared memory, as Int32Array: the number of what it computes on (0: nothing), and a count
 * that goes on as long as its event loop comes round.
 */
export const places = { current: 0, heartbeat: 1, count: 2 } as const

/** How often a thread that has work shows that its event loop comes round. */
export const heartbeatMs = 100

/** How often it is looked at, as a part of what it may take. */
const looks = 10

/** Looks at a thread from outside while it has work. */
interface ThreadWatch {
  start(): void
  stop(): void
}

/**
 * Looks now and then whether it is still at the same, or its event loop stands still, and tells when too long: either alone is
 * enough.
 * @param late may be called more than once
 */
export function createThreadWatch(
  place: Int32Array,
  timeoutMs: number,
  clock: Clock,
  late: () => void,
): ThreadWatch {
  let timer: NodeJS.Timeout | undefined
  const lookMs = Math.max(1, timeoutMs / looks)
  /** How long each place has shown the same. */
  const sameMs = [0, 0]
  const seen = [0, 0]
  let lookedAt = 0
  const look = () => {
    const now = clock.monotonicMs()
    // If this thread itself stood still (SIGSTOP, a suspended machine), so did the other one, and that time says nothing of it.
    const passedMs = Math.min(now - lookedAt, 2 * lookMs)
    lookedAt = now
    for (const at of [places.current, places.heartbeat]) {
      const value = Atomics.load(place, at)
      if (value !== seen[at] || (at === places.current && value === 0)) {
        seen[at] = value
        sameMs[at] = 0
      } else {
        sameMs[at]! += passedMs
        if (sameMs[at]! > timeoutMs) late()
      }
    }
  }
  return {
    start() {
      if (timer) return
      sameMs.fill(0)
      lookedAt = clock.monotonicMs()
      timer = setInterval(look, lookMs)
    },
    stop() {
      clearInterval(timer)
      timer = undefined
    },
  }
}

/** After the places stands, as text, for whom it computes. */
const partyAt = places.count * Int32Array.BYTES_PER_ELEMENT
const partyBytes = 64

/** Shared memory in which a thread shows what it is at, and for whom. */
export function createThreadMark(): SharedArrayBuffer {
  return new SharedArrayBuffer(partyAt + partyBytes)
}

/** The places in it. */
export function placesIn(mark: SharedArrayBuffer): Int32Array {
  return new Int32Array(mark, 0, places.count)
}

/** In the thread: gives the function that does what can't be interrupted, and shows meanwhile for whom. */
export function markWork(mark: SharedArrayBuffer): <T>(party: string, work: () => T) => T {
  const place = placesIn(mark)
  const text = Buffer.from(mark, partyAt, partyBytes)
  let count = 0
  return (party, work) => {
    text.fill(0)
    text.write(party)
    // Zero is nothing.
    count = (count % 0x7fffffff) + 1
    Atomics.store(place, places.current, count)
    try {
      return work()
    } finally {
      Atomics.store(place, places.current, 0)
    }
  }
}

/** In the thread: shows that its event loop comes round. Gives the function that ends it. */
export function beat(mark: SharedArrayBuffer): () => void {
  const place = placesIn(mark)
  const timer = setInterval(() => Atomics.add(place, places.heartbeat, 1), heartbeatMs)
  return () => clearInterval(timer)
}

/** From outside: for whom it was at work when it ended; undefined when for nobody. */
export function findCulprit(mark: SharedArrayBuffer): string | undefined {
  if (Atomics.load(placesIn(mark), places.current) === 0) return undefined
  const text = Buffer.from(new Uint8Array(mark, partyAt, partyBytes)).toString()
  return text.slice(0, text.indexOf('\0'))
}

/** How long the event loop is watched until its load is told anew. */
const lookMs = 100
/** Of its time it has worked so much, and not waited, when it counts as busy. */
const busyShare = 0.5

/** How much the event loop has worked, of 0 to 1, and what to give as `before` the next time. */
interface Worked {
  readonly share: number
  readonly next: unknown
}

/**
 * Tells whether the event loop of this thread has had more to do than to wait for.
 * @param worked as `workedSince`
 */
export function createLoopLoad(
  clock: Pick<Clock, 'monotonicMs'>,
  worked: (before: unknown) => Worked = workedSince,
): () => boolean {
  let { next: before } = worked(undefined)
  let lookedAtMs = clock.monotonicMs()
  let isBusy = false
  return () => {
    const nowMs = clock.monotonicMs()
    if (nowMs - lookedAtMs < lookMs) return isBusy
    const { share, next } = worked(before)
    before = next
    lookedAtMs = nowMs
    isBusy = share >= busyShare
    return isBusy
  }
}

/** The share of its time that the event loop of this thread has worked since `before`, or its begin. */
export function workedSince(before: unknown): Worked {
  const now = performance.eventLoopUtilization()
  const since = before === undefined ? now : performance.eventLoopUtilization(now, before as typeof now)
  return { share: since.utilization, next: now }
}

/** What is asked of this process; another one in tests. */
interface HeapParts {
  /** The share of the time since `before` in which the event loop worked, and what the next call takes as that. */
  readonly worked: (before: unknown) => Worked
  readonly collect: () => void
}

/** When the process checks whether it is idle. */
interface IdleLooks {
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
