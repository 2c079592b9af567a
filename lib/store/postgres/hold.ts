import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, type Moment, momentOf, msSince, stepSince } from '../../base/clock.ts'
import type { HeldServer } from '../../base/held-server.ts'
import { limits } from '../../base/limits.ts'
import { ClockApart, StorageUnreachable } from '../../base/storage-fault.ts'
import { lockNode, type NodeLock } from './lock.ts'
import type { Hold, Reaching } from './reached.ts'
import { createServers, findNewerTimeline } from './servers.ts'
import { OwnSessions } from './take-name.ts'
import { keepNewestTimeline, OldPrimary } from './timeline.ts'

export interface NodeHold extends Hold {
  /** Resolves when it can not be had again: whoever has it now, or what became of the database, leaves no room for this node. */
  readonly failed: Promise<Error>
  /** As it is now. */
  readonly held: HeldServer
  /** Calls `listener` with what it is from each change on; gives the function that ends it. */
  onChange(listener: (held: HeldServer) => void): () => void
  /** This one has started. */
  letOthersStart(): Promise<void>
  release(): Promise<void>
}

/** How a store reaches its server: who judges the server, who is told that it can't be asked, and what must be held meanwhile. */
export type StoreOutage = Pick<Reaching, 'judge' | 'failed'> & { readonly hold?: NodeHold }

export interface HoldParts {
  /** As of `openStore`. */
  readonly url: string
  /** The file of `keepNewestTimeline`. */
  readonly timelinePath: string
  /** `nodeName`. */
  readonly node: string
  /** As of `lockNode`. */
  readonly newestStep: number
  readonly clock: Clock
  /**
   * Asked before it is relied on again: what became of the database while others could have it.
   * @throws what keeps this process from working on it
   */
  requireSame(url: string): Promise<void>
  /** As of `lockNode`. */
  warn(sentence: string): void
}

/**
 * Holds the lock of a node from now on until it is released. The connection with it is asked every `limits.nodeBeatMs` whether it is there,
 * and what its clock shows; when it is not there or shows another time than ours, the lock is taken again, on whichever of the servers takes
 * writes by then, as soon as the clocks agree.
 * @throws DataDirectoryBusy, StorageUnreachable
 */
export async function holdNode({
  url,
  timelinePath,
  node,
  newestStep,
  clock,
  requireSame,
  warn,
}: HoldParts): Promise<NodeHold> {
  const newest = await keepNewestTimeline(timelinePath, warn)
  const servers = createServers(url, newest.judge)
  const stopping = new AbortController()
  const failed = Promise.withResolvers<Error>()
  const listeners = new Set<(error: StorageUnreachable) => void>()
  const followers = new Set<(held: HeldServer) => void>()
  const parts = { node, newestStep, clock, own: new OwnSessions(), warn }
  let lock = await lockNode(servers, { ...parts, isStarting: true })
  if (await isOld(lock)) {
    await lock.release()
    lock = await lockNode(servers, { ...parts, isStarting: true })
  }
  await newest.remember(lock.held.timeline)
  let outage: StorageUnreachable | undefined
  /** When it was last asked for and was there. */
  let sureSince: Moment = momentOf(clock)
  let asking: Promise<void> | undefined

  const held = (): HeldServer => (outage ? outage.lost : lock.held)

  function tellFollowers(): void {
    for (const follower of followers) follower(held())
  }

  const rest = (ms: number) => pause(ms, undefined, { signal: stopping.signal, ref: false }).catch(() => {})

  const isInDoubt = () =>
    msSince(clock, sureSince) >= limits.nodeSureMs ||
    Math.abs(stepSince(clock, sureSince)) > limits.nodeClockMs

  /** Asks whether the connection is there, once for all who want to know. */
  function ask(): Promise<void> {
    asking ??= askNow(lock).finally(() => {
      asking = undefined
    })
    return asking
  }

  async function askNow(asked: NodeLock): Promise<void> {
    const began = momentOf(clock)
    try {
      await asked.requireThere()
      sureSince = began
    } catch (error) {
      lose(asked, error as Error)
    }
  }

  /** Whether another of the servers has taken over from the one that it is on, and is to be asked now. */
  async function isOld({ held }: NodeLock): Promise<boolean> {
    const newer = await findNewerTimeline(servers, held)
    await newest.remember(newer)
    if (newer) servers.failed(held.url)
    return newer !== undefined
  }

  function lose(which: NodeLock, error: Error): void {
    if (which !== lock || outage || stopping.signal.aborted) return
    outage = error instanceof StorageUnreachable ? error : new StorageUnreachable(error)
    void which.release()
    for (const listener of listeners) listener(outage)
    tellFollowers()
    void takeAgain()
  }

  async function takeAgain(): Promise<void> {
    while (!stopping.signal.aborted) {
      let next: NodeLock | undefined
      try {
        next = await lockNode(servers, { ...parts, isStarting: false })
        await requireSame(next.held.url)
        await next.letOthersStart()
        await newest.remember(next.held.timeline)
        if (stopping.signal.aborted) return next.release()
        sureSince = momentOf(clock)
        outage = undefined
        lock = next
        tellFollowers()
        return follow(next)
      } catch (error) {
        void next?.release()
        if (!(error instanceof StorageUnreachable)) return failed.resolve(error as Error)
        tellNow(error)
      }
      await rest(limits.postgresAgainMs)
    }
  }

  /** What keeps it away now may be another thing than what it was lost by. */
  function tellNow(error: StorageUnreachable): void {
    if (error.message === outage?.message) return
    outage = error
    // It does not heal by itself, and was no reason yet when the outage was told.
    if (error.cause instanceof OldPrimary) warn(error.message)
    tellFollowers()
  }

  function follow(followed: NodeLock): void {
    void followed.lost.then(error => lose(followed, error))
  }

  async function watch(): Promise<void> {
    while (!stopping.signal.aborted) {
      await rest(limits.nodeBeatMs)
      if (!outage) await ask()
    }
  }

  async function watchOthers(): Promise<void> {
    while (servers.all.length > 1 && !stopping.signal.aborted) {
      await rest(limits.nodeOthersMs)
      const asked = lock
      if (outage || stopping.signal.aborted || !(await isOld(asked))) continue
      lose(asked, new Error('another of its servers has been promoted, and is asked from now on'))
    }
  }

  follow(lock)
  void watch()
  void watchOthers()
  return {
    failed: failed.promise,
    async server() {
      // A machine that was suspended may have lost it, and not have heard of that; a clock that was set is asked about at once.
      if (!outage && isInDoubt()) await ask()
      if (outage) throw outage
      return lock.held
    },
    requireSteady() {
      const step = stepSince(clock, sureSince)
      if (Math.abs(step) > limits.nodeClockMs) throw new StorageUnreachable(new ClockApart(-step))
    },
    get held() {
      return held()
    },
    onChange(listener) {
      followers.add(listener)
      return () => followers.delete(listener)
    },
    onLost(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    letOthersStart: () => lock.letOthersStart(),
    async release() {
      stopping.abort()
      await lock.release()
    },
  }
}
