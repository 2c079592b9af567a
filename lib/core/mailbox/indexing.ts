import { setTimeout as pause } from 'node:timers/promises'
import { limits } from '../../base/limits.ts'
import { takeTurns } from '../../base/turns.ts'
import { mergeIndex } from '../../store/search/full-text.ts'
import { textsOfRow } from '../../store/search/row-words.ts'
import { searchWordsInTurns } from '../../store/search/words.ts'
import { findUnindexed, indexWhole } from '../../store/unindexed-bodies.ts'
import type { App } from '../app/app.ts'

/**
 * Puts into the search index the words for which the write of their messages had no room, and merges what the index consists
 * of. It goes in steps, each a write of its own with the words of one message (`limits.messageWords`) or so many pages
 * (`limits.indexMergePages`), and rests after each as long as it took: mail that comes goes first. Whoever wrote what is to
 * be indexed, this process or another, is not asked: it looks once a second, when anything was committed. What a crash
 * takes with it is still noted as to be done.
 */
export function startIndexing(app: Pick<App, 'store' | 'log' | 'clock'>): { stop(): Promise<void> } {
  const { store, log, clock } = app
  const takeTurn = takeTurns()
  const stopping = new AbortController()
  const { signal } = stopping
  /** When there was nothing to be done the last time. */
  let doneAt: number | undefined

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      await lookForWork().catch(error => log.error({ err: error }, 'the search index can not be kept up'))
      await rest(limits.indexPollMs)
    }
  }

  async function lookForWork(): Promise<void> {
    const version = store.version()
    if (version !== undefined && version === doneAt) return
    for (let isDone = false; !isDone && !signal.aborted; ) {
      const hasIndexed = await thenRest(indexOne)
      const hasMerged = !signal.aborted && (await thenRest(() => store.writeUnsynced(mergeIndex)))
      isDone = !hasIndexed && !hasMerged
    }
    doneAt = version
  }

  async function indexOne(): Promise<boolean> {
    const row = await findUnindexed(store.read)
    if (!row) return false
    const words = await searchWordsInTurns(textsOfRow(row), takeTurn)
    await store.writeUnsynced(db => indexWhole(db, row.id, words))
    return true
  }

  async function thenRest<T>(work: () => Promise<T>): Promise<T> {
    const began = clock.monotonicMs()
    const value = await work()
    await rest(clock.monotonicMs() - began)
    return value
  }

  async function rest(ms: number): Promise<void> {
    // It ends early when all of this is stopped.
    await pause(Math.max(1, ms), undefined, { signal, ref: false }).catch(() => {})
  }

  const working = follow()
  return {
    async stop() {
      stopping.abort()
      await working
    },
  }
}
