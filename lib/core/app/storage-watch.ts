import { setTimeout as pause } from 'node:timers/promises'
import { hasNoInodes } from '../../base/faults.ts'
import type { LogState } from '../../store/dialect/checkpointer.ts'
import type { App } from './app.ts'
import { slowSyncMs } from './status.ts'
import { diskHeld, freeBytesOf, nearlyFull, setRoom, takeRefused } from './storage.ts'

/**
 * The write-ahead log of the database: how often it is moved into its file and the room on the disk looked at, the bytes of it after
 * which writers wait a moment so that it begins anew, after how long a silence its file is emptied, and how long it may
 * be longer until the operator is told.
 */
const storageLookMs = 500
export const walBytes = 64 * 1024 * 1024
const logIdleMs = 5_000
const logHeldMs = 10_000

/** What may be wrong, in the sentences of /health and of the log. A fault means that the server can not do its work. */
const kinds = {
  room: {
    isFault: true,
    sentence: nearlyFull,
    begin: 'the disk is nearly full: no mail is taken in (452 4.3.1), and nothing new over the API (503)',
    end: 'there is room on the disk again',
  },
  file: {
    isFault: true,
    sentence: 'The file of the database can not be written, so its write-ahead log grows.',
    begin:
      'the file of the database can not be written: what comes stays in its write-ahead log, which grows',
    end: 'the file of the database can be written again',
  },
  disk: {
    isFault: true,
    sentence: diskHeld,
    begin:
      'the disk does not keep what is written: an fsync takes long, and nothing is promised meanwhile (no 250, 503 over the API)',
    end: 'the disk keeps what is written again',
  },
  log: {
    isFault: false,
    sentence: 'Another program has read the database for so long that its write-ahead log grows.',
    begin: 'another program reads the database for so long that its write-ahead log grows',
    end: 'the write-ahead log is as short again as it should be',
  },
} as const
type Kind = keyof typeof kinds

export interface StorageBounds {
  /** How often the room on the disk and the log are looked at. */
  readonly lookMs: number
  /** How long the log may be too long before that is said. */
  readonly heldMs: number
  readonly logBytes: number
  /** How long an fsync may take before that is said. */
  readonly syncMs: number
}

/** What must be free before anything is taken in again, as a part of what had to be: so that it does not change each second. */
const recovered = 1.1

/**
 * Watches the room on the disk, has the write-ahead log moved into the database's file beside all else, and says of each
 * trouble once that it began and once that it ended.
 */
export function startStorageWatch(
  app: Pick<App, 'config' | 'log' | 'clock' | 'store' | 'storage' | 'meter'>,
  { lookMs, heldMs, logBytes, syncMs }: StorageBounds = {
    lookMs: storageLookMs,
    heldMs: logHeldMs,
    logBytes: walBytes,
    syncMs: slowSyncMs,
  },
): { stop(): Promise<void> } {
  const { config, clock, log, meter, store, storage } = app
  const stopping = new AbortController()
  const { signal } = stopping
  /** How often each was seen. */
  const troubles = new Map<Kind, number>()
  /** Since when the log is longer than it should be. */
  let longSince: number | undefined

  function note(kind: Kind, isSo: boolean, about: object): void {
    const seen = troubles.get(kind) ?? 0
    if (isSo) troubles.set(kind, seen + 1)
    if (isSo === seen > 0) return
    const { isFault, begin, end } = kinds[kind]
    if (isSo) log[isFault ? 'error' : 'warn'](about, begin)
    else {
      troubles.delete(kind)
      log.warn({ ...about, ...(kind === 'room' && { refused: takeRefused(storage.shared) }), seen }, end)
    }
    const now = [...troubles.keys()].map(one => kinds[one])
    storage.fault = now.find(one => one.isFault)?.sentence
    storage.warnings = now.filter(one => !one.isFault).map(({ sentence }) => sentence)
  }

  async function lookAtRoom(): Promise<void> {
    const freeBytes = await freeBytesOf(config.data_dir)
    const noInodes = hasNoInodes(config.data_dir)
    const isShort = noInodes || freeBytes < config.min_free * (troubles.has('room') ? recovered : 1)
    setRoom(storage.shared, !isShort)
    note('room', isShort, { freeBytes, minFree: config.min_free, ...(noInodes && { freeInodes: 0 }) })
  }

  function lookAtLog({ fault, usedBytes }: LogState): void {
    storage.logBytes = usedBytes
    meter.count('store_checkpoints_total', fault === null ? 'done' : 'failed')
    note('file', fault !== null, { why: fault, usedBytes })
    if (usedBytes <= logBytes) longSince = undefined
    else longSince ??= clock.monotonicMs()
    const isHeld = longSince !== undefined && clock.monotonicMs() - longSince >= heldMs
    note('log', isHeld && fault === null, { usedBytes })
  }

  /** The fsync that was under way at the last look, and since when. */
  let syncing: { readonly settled: Promise<void>; readonly sinceMs: number } | undefined

  function lookAtDisk(): void {
    const settled = store.settled()
    if (settled !== syncing?.settled) syncing = settled && { settled, sinceMs: clock.monotonicMs() }
    const tookMs = syncing ? clock.monotonicMs() - syncing.sinceMs : 0
    note('disk', tookMs >= syncMs, {})
  }

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      lookAtDisk()
      await lookAtRoom().catch(error => log.error({ err: error }, 'the room on the disk is not known'))
      // It ends early when all of this is stopped.
      await pause(lookMs, undefined, { signal, ref: false }).catch(() => {})
    }
  }

  const checkpoints = store.keepLog({ lookMs, logBytes, idleMs: logIdleMs }, lookAtLog)
  const room = store.watchRoom()
  const following = follow()
  return {
    async stop() {
      stopping.abort()
      await following
      await checkpoints.stop()
      await room.stop()
    },
  }
}
