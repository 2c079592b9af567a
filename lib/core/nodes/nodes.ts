import { BlobsFault } from '../../base/faults.ts'
import type { Log } from '../../base/log.ts'
import { randomBase36, sha256Hex } from '../../base/secrets.ts'
import { type Clock, type Moment, momentOf, msSince, nodeBeatMs, nodeSureMs } from '../../base/time.ts'
import type { Membership } from '../../queue/lease.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { newestStep } from '../../store/migrations/migrate.ts'
import { endGoneNode, listNodes, nodeLeaseMs, renewNode, startNode, stopNode } from '../../store/nodes.ts'
import type { Store } from '../../store/open.ts'
import { endSweep, takeSweep } from '../../store/sweeps.ts'
import type { NodeRow } from '../../store/tables.ts'
import { bothPlaces, whyApart } from './blob-places.ts'

export interface NodesParts {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  /** Of this node: `nodeName`. */
  readonly id: string
  /** What people call it: the machine. */
  readonly name: string
  readonly version: string
  /** How it is configured: `settingsMarks`. */
  readonly settings: Readonly<Record<string, string>>
  /** Where its large messages are: `disk`, or the URL of a bucket. */
  readonly blobs: string
  /** The name by which the objects there are its own. */
  readonly bucketOwner: () => Promise<string>
  /** Whether it has some in its data directory, of before there was a bucket: no other node would find them. */
  readonly hasFiles: () => Promise<boolean>
}

/** This node among those that work on the same database. */
export interface Nodes extends Membership {
  readonly id: string
  /** How many there are, this one among them. */
  readonly count: number
  /** Whether its operator had it lease nothing more: it ends what it has. */
  readonly isDraining: boolean
  /**
   * Begins under a new name as a holder: what this node held before is over.
   * @throws BlobsFault when another node is up that does not see the same large messages
   */
  join(): Promise<void>
  /**
   * Renews the lease of this node from now on, takes over from others whose lease is over, and sees whether it is to drain.
   * @param looked called after each look; what it throws is logged
   */
  watch(looked: () => Promise<void>): void
  /**
   * Takes a sweep, which one node at a time does.
   * @returns what gives it back; undefined where another does it, or this node may take nothing
   */
  takeSweep(name: string): Promise<(() => Promise<void>) | undefined>
  /** Works no more. */
  leave(): Promise<void>
}

/** Characters that tell one start of a node from another. */
const startLength = 8

/**
 * A node lives as long as it renews its lease, a time in its row by the clock of the server, or has its lock there. Another node that
 * sees the lease over and finds the lock free says in one write that the node is gone, and gives its leases back. A node relies on what
 * it holds for `nodeSureMs` after it began its last renewal, by its own monotonic clock: that is over long before another node may
 * take over. A node that stood still for longer finds that its row says so, and begins under another name.
 */
export function createNodes(parts: NodesParts): Nodes {
  const { store, clock, log, id } = parts
  // On SQLite the lock of the data directory leaves no other.
  const isAlone = store.dialect === 'sqlite'
  let holder = ''
  let count = 1
  let isDraining = false
  /** When it began the last renewal that succeeded. */
  let sureSince: Moment = { monotonicMs: Number.NEGATIVE_INFINITY, dayMs: 0 }
  /** When its renewals began to follow each other without a gap. */
  let steadySinceMs = 0
  let timer: NodeJS.Timeout | undefined
  let turning: Promise<void> | undefined
  let isStopped = false
  let isFailing = false

  const isSure = () => holder !== '' && (isAlone || msSince(clock, sureSince) < nodeSureMs)

  /** A node that does not see the files of the others would show messages without their bytes. */
  async function requireSameBlobs(db: WriteDb, mine: Pick<NodeRow, 'blobs' | 'bucketOwner'>): Promise<void> {
    for (const row of await listNodes(db)) {
      if (row.id === id || row.state !== 'up' || row.isLate) continue
      const why = whyApart(parts.blobs, mine, row)
      if (why !== undefined) throw new BlobsFault(why)
    }
  }

  async function begin(): Promise<void> {
    const began = momentOf(clock)
    const isBucket = parts.blobs !== 'disk'
    const mine = {
      blobs: isBucket && !isAlone && (await parts.hasFiles()) ? bothPlaces(parts.blobs) : parts.blobs,
      bucketOwner: isBucket ? sha256Hex(await parts.bucketOwner()) : null,
    }
    const next = `${id}.${randomBase36(startLength)}`
    await store.write(async db => {
      if (!isAlone) await requireSameBlobs(db, mine)
      await startNode(db, {
        id,
        holder: next,
        name: parts.name,
        version: parts.version,
        newestStep,
        ...mine,
        // A node that begins again goes on to drain.
        isDraining: isDraining ? 1 : 0,
        startedAt: clock.now().toISOString(),
        settings: JSON.stringify(parts.settings),
      })
    })
    holder = next
    noteSure(began)
  }

  function noteSure(began: Moment): void {
    if (msSince(clock, sureSince) >= nodeSureMs) steadySinceMs = began.monotonicMs
    sureSince = began
  }

  async function renew(): Promise<void> {
    const began = momentOf(clock)
    if (await store.writeUnsynced(db => renewNode(db, { id, holder }))) return noteSure(began)
    log.warn(
      { node: id },
      'this node stood still for so long that others took over what it held: it begins anew',
    )
    await begin()
  }

  async function look(): Promise<void> {
    const rows = await listNodes(store.read)
    const others = rows.filter(row => row.id !== id && row.state === 'up')
    isDraining = rows.some(row => row.id === id && row.isDraining === 1)
    count = 1 + others.length
    // After an outage of the database all leases are over: those that live are given the time to renew theirs.
    const isSteady = isSure() && clock.monotonicMs() - steadySinceMs >= nodeLeaseMs
    if (isAlone || !isSteady) return
    for (const row of others) if (row.isLate) await takeOver(row)
  }

  async function takeOver(row: NodeRow): Promise<void> {
    if (!(await store.write(db => endGoneNode(db, row)))) return
    log.warn({ node: row.id, name: row.name }, 'a node is gone: what it held is given back')
    count--
  }

  async function turn(looked: () => Promise<void>): Promise<void> {
    try {
      if (!isAlone) await renew()
      await look()
      if (!isAlone) await looked()
      isFailing = false
    } catch (error) {
      // An outage of the database is logged by the writes.
      if (!isFailing) log.warn({ err: error }, 'this node can not renew its lease')
      isFailing = true
    }
  }

  function turnSoon(looked: () => Promise<void>): void {
    timer = setTimeout(() => {
      turning = turn(looked).finally(() => {
        if (!isStopped) turnSoon(looked)
      })
    }, nodeBeatMs)
    timer.unref()
  }

  return {
    id,
    get holder() {
      return holder
    },
    get count() {
      return count
    },
    get isDraining() {
      return isDraining
    },
    get mayLease() {
      return isSure() && !isDraining
    },
    holds: leasedBy => isSure() && leasedBy === holder,
    async join() {
      await begin()
      await look()
    },
    watch(looked) {
      turnSoon(looked)
    },
    async takeSweep(name) {
      if (isAlone) return async () => {}
      const heldBy = holder
      if (!isSure() || isDraining) return undefined
      const isMine = await store.writeHolding(holdsNothing, db => takeSweep(db, { name, heldBy }))
      return isMine ? () => store.writeHolding(holdsNothing, db => endSweep(db, name, heldBy)) : undefined
    },
    async leave() {
      isStopped = true
      clearTimeout(timer)
      await turning
      try {
        await store.write(db => stopNode(db, { id, holder }))
      } catch (error) {
        // The others see that it is gone.
        log.warn({ err: error }, 'this node can not say that it stops')
      }
    },
  }
}
