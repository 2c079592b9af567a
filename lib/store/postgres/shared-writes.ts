import { setImmediate } from 'node:timers/promises'
import { StorageUnreachable } from '../../base/faults.ts'
import type { WriteDb } from '../dialect/dialect.ts'
import type { Held } from '../dialect/held.ts'
import { hasMetOthers, type Writes, type Written } from './write.ts'

/** How many writes share one transaction at most. */
const writesPerTransaction = 64

interface Waiting {
  /** Asked when it may begin. */
  readonly asks: () => Held
  held?: Held
  readonly work: (db: WriteDb) => Promise<unknown>
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/**
 * Writes that wait go into one transaction, one after the other in a process, as on SQLite: while one commits, the next ones gather. Writes
 * that hold the same thing do not share, unless they are orderless. If the transaction fails, each of its writes has one of its own, so
 * that none fails for another, and what is locked does not keep the others waiting.
 * @param transacted called with how many writes shared a transaction
 */
export function createSharedWrites(
  { write, writeTogether }: Pick<Writes, 'write' | 'writeTogether'>,
  written: Written,
  transacted: (writes: number) => void,
) {
  let waiting: Waiting[] = []
  let isWriting = false

  async function writeWaiting(): Promise<void> {
    isWriting = true
    while (waiting.length > 0) {
      // After the callbacks of this event-loop turn, so that writes of many sessions meet in one transaction.
      await setImmediate()
      const batch = takeSome()
      if (batch.length > 0) await writeBatch(batch)
    }
    isWriting = false
  }

  /** Takes those that may share a transaction, in their order. */
  function takeSome(): Required<Waiting>[] {
    const batch: Required<Waiting>[] = []
    const left: Waiting[] = []
    const heldBefore = new Set<string>()
    /** What the batch holds, and whether all that hold it are orderless. */
    const held = new Map<string, boolean>()
    const asked = waiting
    waiting = []
    for (const one of asked) {
      if (batch.length === writesPerTransaction) {
        left.push(one)
        continue
      }
      try {
        one.held ??= one.asks()
      } catch (error) {
        one.reject(error)
        continue
      }
      const { isOrderless = false } = one.held
      const names = namesOf(one.held)
      const mayShare = (name: string) =>
        !heldBefore.has(name) && (!held.has(name) || (isOrderless && held.get(name)))
      if (names.every(mayShare)) {
        batch.push(one as Required<Waiting>)
        for (const name of names) held.set(name, isOrderless)
      } else {
        left.push(one)
        for (const name of names) heldBefore.add(name)
      }
    }
    // What was put while these were asked comes after them.
    waiting = [...left, ...waiting]
    return batch
  }

  async function writeBatch(batch: readonly Required<Waiting>[]): Promise<void> {
    const helds = batch.map(({ held }) => held)
    const together: Held = {
      names: helds.flatMap(({ names = [] }) => names),
      inboxes: helds.flatMap(({ inboxes = [] }) => inboxes),
      messages: helds.flatMap(({ messages = [] }) => messages),
    }
    try {
      const works = batch.map(({ work }) => work)
      const values = await writeTogether(together, works, written)
      transacted(batch.length)
      for (const [index, { resolve }] of batch.entries()) resolve(values[index])
    } catch (error) {
      // Whether it is done is not known; or it was alone, and is at fault itself or does not wait for what is locked.
      const isAlone = batch.length === 1 && (!hasMetOthers(error) || batch[0]!.held.isDivisible)
      const isOver = error instanceof StorageUnreachable || isAlone
      for (const { held, work, resolve, reject } of batch) {
        if (isOver) reject(error)
        else void write(() => held, work, written, 1).then(resolve, reject)
      }
    }
  }

  return <T>(asks: () => Held, work: (db: WriteDb) => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      waiting.push({ asks, work, resolve: value => resolve(value as T), reject })
      if (!isWriting) void writeWaiting()
    })
}

/** Returns what is held, by names of which no two are of different things. */
function namesOf({ names = [], inboxes = [], messages = [] }: Held): string[] {
  return [
    ...names.map(one => `name ${one}`),
    ...inboxes.map(one => `inbox ${one}`),
    ...messages.map(one => `message ${one}`),
  ]
}
