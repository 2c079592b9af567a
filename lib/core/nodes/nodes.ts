import { BlobsFault } from '../../base/blobs-fault.ts'
import { type Clock, isoAfter, type Moment, momentOf, msSince } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import type { Log } from '../../base/log.ts'
import { sha256Hex } from '../../base/secret.ts'
import type { Membership } from '../../queue/lease.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { endNode, findNode, listNodes, noteBeat, putNode } from '../../store/nodes.ts'
import type { Store } from '../../store/open.ts'
import { deleteReaders } from '../../store/readers.ts'
import { endSweep, findSweeper, putSweep } from '../../store/sweeps.ts'
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
   * Begins a new generation: what earlier ones held is over.
   * @throws BlobsFault when another node is up that does not see the same large messages
   */
  join(): Promise<void>
  /**
   * Says from now on that this node works, and hears whether the others do, where there may be others; and whether it is to drain.
   * @param looked called after each time that others were heard of; what it throws is told
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

/** Another node, as it was last heard of. */
interface Other {
  readonly row: NodeRow
  /** Since when its beat stands still, by our clock, which no setting of time moves. */
  readonly sinceMs: number
}

/** In which name a generation of a node holds leases. */
const holderOf = (id: string, generation: number) => `${id}.${generation}`

/**
 * Nodes tell each other apart from dead ones by a count that each moves on in its row; when it stands still for
 * `limits.nodeGoneMs`, whoever sees that says in one write that this generation is gone. No clock of another machine is asked. A
 * node that was paused finds that its row says so, and begins a new generation; until it has asked it relies on nothing that it
 * holds for longer than `limits.nodeSureMs`, which is over before any other may take it.
 */
export function createNodes(parts: NodesParts): Nodes {
  const { store, clock, log, id } = parts
  // On SQLite the lock of the data directory leaves no other.
  const isAlone = store.dialect === 'sqlite'
  const others = new Map<string, Other>()
  let generation = 0
  let isDraining = false
  /** When it last began to say that it works and was heard. */
  let sureSince: Moment = { monotonicMs: 0, dayMs: 0 }
  let lookedAtMs = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | undefined
  let beating: Promise<void> | undefined
  let isStopped = false
  let isFailing = false

  const isSure = () => generation > 0 && (isAlone || msSince(clock, sureSince) < limits.nodeSureMs)

  /** Who does not see the files of the others would show messages without their bytes. */
  async function requireSameBlobs(db: WriteDb, mine: Pick<NodeRow, 'blobs' | 'bucketOwner'>): Promise<void> {
    const since = isoAfter(clock.now(), -limits.nodeSeenMs)
    for (const row of await listNodes(db)) {
      if (row.id === id || row.state !== 'up' || row.beatAt < since) continue
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
    const row = await store.write(async db => {
      if (!isAlone) await requireSameBlobs(db, mine)
      const before = await findNode(db, id)
      if (before) await deleteReaders(db, holderOf(id, before.generation))
      const now = clock.now().toISOString()
      const next: NodeRow = {
        id,
        generation: Math.max(before?.generation ?? 0, generation) + 1,
        name: parts.name,
        version: parts.version,
        ...mine,
        state: 'up',
        // One that begins anew goes on to drain.
        isDraining: isDraining ? 1 : 0,
        beat: 0,
        startedAt: now,
        beatAt: now,
        settings: JSON.stringify(parts.settings),
      }
      await putNode(db, next)
      return next
    })
    generation = row.generation
    sureSince = began
  }

  async function beat(): Promise<void> {
    const began = momentOf(clock)
    const mine = { id, generation }
    if (await store.writeUnsynced(db => noteBeat(db, mine, clock.now().toISOString()))) {
      sureSince = began
      return
    }
    log.warn(
      { node: id, generation },
      'this node stood still for so long that others took over what it held: it begins anew',
    )
    await begin()
  }

  /** Hears of the others; gives those whose beat has stood still for too long. */
  async function look(): Promise<NodeRow[]> {
    const rows = await listNodes(store.read)
    const nowMs = clock.monotonicMs()
    // Who has not looked for long knows nothing of that time.
    const isGap = nowMs - lookedAtMs > limits.nodeSureMs
    lookedAtMs = nowMs
    const before = new Map(others)
    others.clear()
    const still: NodeRow[] = []
    for (const row of rows) {
      if (row.id === id) {
        isDraining = row.isDraining === 1
        continue
      }
      const known = isGap ? undefined : before.get(row.id)
      const isStill = known?.row.beat === row.beat && known.row.generation === row.generation
      const sinceMs = isStill ? known.sinceMs : nowMs
      others.set(row.id, { row, sinceMs })
      if (row.state === 'up' && nowMs - sinceMs >= limits.nodeGoneMs) still.push(row)
    }
    return still
  }

  async function end(row: NodeRow): Promise<void> {
    const isGone = await store.write(async db => {
      const hasEnded = await endNode(db, row, 'gone', row.beat)
      if (hasEnded) await deleteReaders(db, holderOf(row.id, row.generation))
      return hasEnded
    })
    if (!isGone) return
    log.warn({ node: row.id, name: row.name }, 'a node is gone: what it held is given back')
    others.set(row.id, { row: { ...row, state: 'gone' }, sinceMs: clock.monotonicMs() })
  }

  async function turn(looked: () => Promise<void>): Promise<void> {
    try {
      if (!isAlone) await beat()
      const still = await look()
      if (!isAlone) {
        for (const row of still) await end(row)
        await looked()
      }
      isFailing = false
    } catch (error) {
      // What the database can not be asked for is told by the writes.
      if (!isFailing) log.warn({ err: error }, 'this node can not say that it works')
      isFailing = true
      lookedAtMs = Number.NEGATIVE_INFINITY
    }
  }

  function turnSoon(looked: () => Promise<void>): void {
    timer = setTimeout(() => {
      beating = turn(looked).finally(() => {
        if (!isStopped) turnSoon(looked)
      })
    }, limits.nodeBeatMs)
    timer.unref()
  }

  function isOver(leasedBy: string): boolean {
    const at = leasedBy.lastIndexOf('.')
    // From before there were generations.
    if (at < 0) return true
    const [name, its] = [leasedBy.slice(0, at), Number(leasedBy.slice(at + 1))]
    if (name === id) return its < generation
    if (isAlone) return true
    const other = others.get(name)?.row
    // It has come since the last look.
    if (other === undefined) return false
    return its < other.generation || (its === other.generation && other.state !== 'up')
  }

  return {
    id,
    get holder() {
      return holderOf(id, generation)
    },
    isOver,
    get count() {
      const up = [...others.values()].filter(({ row }) => row.state === 'up')
      return 1 + up.length
    },
    get isDraining() {
      return isDraining
    },
    get mayLease() {
      return isSure() && !isDraining
    },
    holds: leasedBy => isSure() && leasedBy === holderOf(id, generation),
    async join() {
      await begin()
      await look()
    },
    watch(looked) {
      turnSoon(looked)
    },
    async takeSweep(name) {
      if (isAlone) return async () => {}
      const mine = holderOf(id, generation)
      if (!isSure() || isDraining) return undefined
      const isMine = await store.write(async db => {
        const heldBy = await findSweeper(db, name)
        if (heldBy !== undefined && heldBy !== mine && !isOver(heldBy)) return false
        await putSweep(db, { name, heldBy: mine })
        return true
      })
      return isMine ? () => store.write(db => endSweep(db, name, mine)) : undefined
    },
    async leave() {
      isStopped = true
      clearTimeout(timer)
      await beating
      try {
        await store.write(db => endNode(db, { id, generation }, 'stopped'))
      } catch (error) {
        // The others see that it is gone.
        log.warn({ err: error }, 'this node can not say that it stops')
      }
    },
  }
}
