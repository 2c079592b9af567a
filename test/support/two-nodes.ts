import { sql } from 'kysely'
import type { Test } from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import type { App } from '../../lib/core/app/app.ts'
import { createQueue } from '../../lib/queue/queue.ts'
import type { Attempt } from '../../lib/queue/scheduler.ts'
import type { WriteDb } from '../../lib/store/dialect/dialect.ts'
import { holdRows } from '../../lib/store/hold-rows.ts'
import { findBroken, invariants } from '../../lib/store/invariants.ts'
import { openStore, type Store } from '../../lib/store/open.ts'
import { appOn } from './app-on.ts'
import { newPostgresDatabase } from './databases.ts'
import { membersOf } from './members.ts'
import { migratedDatabase } from './postgres.ts'
import { until } from './until.ts'

/** Two nodes on one database, of which mail is captured. */
export async function twoNodes(t: Test, toml = ''): Promise<readonly [App, App]> {
  const url = await newPostgresDatabase(migratedDatabase)
  const stores = [await openStore(url, systemClock), await openStore(url, systemClock)] as const
  t.teardown(() => Promise.all(stores.map(store => store.close())))
  const plain = await appOn(t, stores[0], `${toml}\n[delivery]\nmode = "capture"`)
  const nodeOn = (store: Store, name: string): App => {
    const { clock, ids } = plain
    const queue = createQueue({ store, clock, ids, members: membersOf(name), random: Math.random })
    return Object.create(plain, {
      store: { value: store },
      queue: { value: queue },
      underWay: { value: new Map() },
    })
  }
  return [nodeOn(stores[0], 'one'), nodeOn(stores[1], 'two')]
}

const codeOf = (error: unknown) => (error as { code?: unknown }).code ?? String(error)

/** What came of it: its value, or the code that it was refused with. */
export const outcomeOf = <T>(work: Promise<T>): Promise<unknown> => work.catch(codeOf)

/**
 * Has `one` do all of its first write but the commit; then `two` begins on the other node, until it has ended or waits for a lock; then both go on to
 * their ends. Gives what came of each.
 */
export async function meet(
  [first, second]: readonly [App, App],
  one: (app: App) => Promise<unknown>,
  two: (app: App) => Promise<unknown>,
): Promise<[unknown, unknown]> {
  const done = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const { store } = first
  let isDone = false
  const pausing = (work: Parameters<Store['write']>[0]): Parameters<Store['write']>[0] => {
    return async db => {
      const value = await work(db)
      if (!isDone) {
        isDone = true
        done.resolve()
        await goOn.promise
      }
      return value
    }
  }
  const paused: Store = {
    ...store,
    write: work => store.write(pausing(work) as typeof work),
    writeHolding: (held, work) => store.writeHolding(held, pausing(work) as typeof work),
  }
  const its = outcomeOf(one(Object.create(first, { store: { value: paused } })))
  await Promise.race([done.promise, its])
  const others = outcomeOf(two(second))
  await endedOrWaiting(store, others)
  goOn.resolve()
  return [await its, await others]
}

async function endedOrWaiting(store: Store, work: Promise<unknown>): Promise<void> {
  let hasEnded = false
  void work.finally(() => {
    hasEnded = true
  })
  const isWaiting = async () => {
    const { rows } = await sql`select 1 from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(store.read)
    return rows.length > 0
  }
  await until('it has ended, or waits for a lock', async () => hasEnded || (await isWaiting()))
}

/**
 * Has `one` begin on the first node and come, past all that it asks before, to the lock of its inbox, which the second node holds; there `change` is done,
 * and over, before `one` has the lock. Gives what came of `one`.
 */
export async function overtake(
  [first, second]: readonly [App, App],
  inboxId: string,
  one: (app: App) => Promise<unknown>,
  change: (app: App) => Promise<unknown>,
): Promise<unknown> {
  const held = Promise.withResolvers<void>()
  const free = Promise.withResolvers<void>()
  // A transaction of its own, beside the writes of the second node.
  const holding = (second.store.read as WriteDb).transaction().execute(async db => {
    await holdRows(db, { inboxes: [inboxId] })
    held.resolve()
    await free.promise
  })
  await held.promise
  const its = outcomeOf(one(first))
  await endedOrWaiting(first.store, its)
  await change(second)
  free.resolve()
  await holding
  return its
}

/** What contradicts itself in the rows. */
export async function contradictions({ store }: App): Promise<string[]> {
  await store.placed()
  const found: string[] = []
  for (const invariant of invariants)
    for (const { subject, found: what } of await findBroken(store.read, invariant, '', 10))
      found.push(`${invariant.name}: ${subject} ${what}`)
  return found
}

/** An attempt at a destination of which nothing bad is known. */
export const attempt: Attempt = {
  ...{ isFirst: false, destination: 'example.net', isClean: true },
  ...{ isWaitedFor: () => false, commit() {}, mayGoTo: async () => true, showed() {} },
}
