import { type Clock, isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { Problem } from '../../base/problem.ts'
import { listNodes, setDraining } from '../../store/nodes.ts'
import type { Store } from '../../store/open.ts'

interface Parts {
  readonly store: Pick<Store, 'read' | 'write'>
  readonly clock: Clock
}

/** A daemon as its operator sees it. */
export interface NodeLine {
  readonly id: string
  /** The machine that it is on. */
  readonly name: string
  /** silent: it should work, and has not said so for a while; gone: the others have taken over what it held. */
  readonly state: 'up' | 'draining' | 'silent' | 'gone' | 'stopped'
  readonly version: string
  /** `disk`, or the URL of the bucket with its large messages; `disk and` that, while some are in its data directory. */
  readonly blobs: string
  readonly startedAt: string
  /** When it last said that it works: null where it need not, on SQLite. */
  readonly beatAt: string | null
}

/**
 * All nodes of the last week.
 * @param isAlone whether the rows are in a file, which one daemon at a time has: then it is not said again and again that it works
 * @param isUp whether the daemon of this data directory runs
 */
export async function findNodes(
  { store, clock }: Parts,
  { isAlone, isUp }: { readonly isAlone: boolean; readonly isUp: boolean },
): Promise<NodeLine[]> {
  const heardSince = isoAfter(clock.now(), -limits.nodeGoneMs)
  const rows = await listNodes(store.read)
  return rows.map(({ generation, beat, bucketOwner, settings, isDraining, state, beatAt, ...row }) => {
    const isSilent = isAlone ? !isUp : beatAt < heardSince
    const upState = isSilent ? 'silent' : isDraining === 1 ? 'draining' : 'up'
    return { ...row, state: state === 'up' ? upState : state, beatAt: isAlone ? null : beatAt }
  })
}

/**
 * For what no daemon may run beside, where several may be on the database: that of this data directory is kept out by its lock.
 * @param id of this node
 * @param why none may run, in a sentence for the operator
 * @throws Problem `unavailable` when another node works, or may have until a moment ago
 */
export async function requireOthersStopped({ store, clock }: Parts, id: string, why: string): Promise<void> {
  const since = isoAfter(clock.now(), -limits.nodeSeenMs)
  const rows = await listNodes(store.read)
  const other = rows.find(row => row.id !== id && row.state === 'up' && row.beatAt >= since)
  if (other) throw new Problem('unavailable', `The node ${other.name} (${other.id}) ${why}`)
}

/**
 * Has a node take nothing more from the queue and say at /health that it is not to be asked; or go on.
 * @throws Problem `not_found`
 */
export async function drainNode({ store }: Parts, id: string, isDraining: boolean): Promise<void> {
  if (await store.write(db => setDraining(db, id, isDraining))) return
  throw new Problem('not_found', `There is no node ${id} that is up.`)
}
