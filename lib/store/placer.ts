import { setTimeout as pause } from 'node:timers/promises'
import { StorageUnreachable } from '../base/faults.ts'
import type { WriteDb } from './dialect/dialect.ts'
import { notice } from './dialect/notices.ts'
import { findLastEventId } from './events.ts'
import { placeEvents } from './place.ts'
import type { PostgresPool } from './postgres/pool.ts'
import { findLastUnplaced, hasUnplaced, takeUnplaced } from './unplaced.ts'

/**
 * Where several processes write to one database: how many events get their places at once, how often it is looked for those of a process
 * that ended, how long it rests while another process gives places, and how long a request waits for a place (503).
 */
export const placedAtOnce = 256
const placeLookMs = 1_000
const placeRestMs = 10
const placeWaitMs = 10_000

/** Gives places to the events of this process and of all others that write to the same database. */
export interface Placer {
  /** Events were committed that have no place yet: gives it to them as soon as it can. */
  wake(): void
  /**
   * Resolves when all events have a place whose write was done before the call.
   * @throws StorageUnreachable when they have none for too long, or at the end
   */
  placed(): Promise<void>
  stop(): Promise<void>
}

/**
 * Begins to look, by itself each `placeLookMs`: another process may have ended before it placed what it wrote. One at a time
 * places, whichever process it is of; who finds that another does looks again.
 * @param alone does the work in a transaction of one process at a time; returns undefined if another one is in one
 * @param waitMs how long `placed` waits
 */
export function startPlacer(
  read: PostgresPool['db'],
  alone: (work: (db: WriteDb) => Promise<number>) => Promise<number | undefined>,
  waitMs: number = placeWaitMs,
): Placer {
  const stopping = new AbortController()
  const { signal } = stopping
  let isAsked = false
  /** Whether it is known that some have no place, so that nobody looks whether it is so. */
  let isSure = false
  let looking: Promise<void> | undefined
  let hindrance = new Error('events get no places')

  /** Gives whether there may be more. */
  const placeSome = async (): Promise<boolean> => {
    const isThere = isSure || (await findLastUnplaced(read)) !== undefined
    isSure = false
    if (!isThere) return false
    const placed = await alone(async db => {
      const [events, last] = await Promise.all([takeUnplaced(db, placedAtOnce), findLastEventId(db)])
      await placeEvents(db, events, last)
      if (events.length > 0) notice(db, 'event')
      if (events.some(({ webhook }) => webhook?.entry)) notice(db, 'queue', 'webhook')
      return events.length
    })
    // What came to who is at it after its look is left to us.
    if (placed === undefined) await rest(placeRestMs)
    return placed === undefined || placed === placedAtOnce
  }

  async function look(): Promise<void> {
    while (isAsked && !signal.aborted) {
      isAsked = false
      while (!signal.aborted && (await placeSome()));
    }
  }

  const rest = (ms: number) => pause(ms, undefined, { signal }).catch(() => {})

  function wake(knows: boolean): void {
    isAsked = true
    if (knows) isSure = true
    // What hinders it hinders the writes as well, which tell of it; it is tried again at the next look.
    looking ??= look()
      .catch(error => {
        hindrance = error
      })
      .finally(() => {
        looking = undefined
        // What was told when it had just ended.
        if (isAsked && !signal.aborted) wake(isSure)
      })
  }

  const timer = setInterval(() => wake(false), placeLookMs)
  timer.unref()
  return {
    wake: () => wake(true),
    async placed() {
      const late = AbortSignal.timeout(waitMs)
      const last = await findLastUnplaced(read)
      if (last === undefined) return
      while (await hasUnplaced(read, last)) {
        if (late.aborted || signal.aborted) throw new StorageUnreachable(hindrance)
        wake(true)
        await rest(placeRestMs)
      }
    },
    async stop() {
      clearInterval(timer)
      // What was promised is placed before this ends, where nothing hinders it, and nobody else stands still at it.
      await Promise.race([looking, rest(placeLookMs)])
      stopping.abort()
      await looking
    },
  }
}
