import { Problem } from '../../base/problem.ts'
import { listNodes, setDraining } from '../../store/nodes.ts'
import type { Store } from '../../store/open.ts'

interface Parts {
  readonly store: Pick<Store, 'read' | 'write'>
}

/** A daemon as its operator sees it. */
export interface NodeLine {
  readonly id: string
  /** The machine that it is on. */
  readonly name: string
  /** silent: it should work, and its lease is over; gone: the others have taken over what it held. */
  readonly state: 'up' | 'draining' | 'silent' | 'gone' | 'stopped'
  readonly version: string
  /** `disk`, or the URL of the bucket with its large messages; `disk and` that, while some are in its data directory. */
  readonly blobs: string
  readonly startedAt: string
  /** Until when its lease holds, which it renews as long as it works: null on SQLite. */
  readonly leasedUntil: string | null
}

/**
 * All nodes of the last week.
 * @param isAlone whether the rows are in a file, which one daemon at a time has
 * @param isUp whether the daemon of this data directory runs
 */
export async function findNodes(
  { store }: Parts,
  { isAlone, isUp }: { readonly isAlone: boolean; readonly isUp: boolean },
): Promise<NodeLine[]> {
  const rows = await listNodes(store.read)
  return rows.map(({ holder, newestStep, bucketOwner, settings, isDraining, isLate, state, ...row }) => {
    const isSilent = isAlone ? !isUp : isLate
    const upState = isSilent ? 'silent' : isDraining === 1 ? 'draining' : 'up'
    return { ...row, state: state === 'up' ? upState : state }
  })
}

/**
 * For what no daemon may run beside, where several may be on the database: that of this data directory is kept out by its lock.
 * @param id of this node
 * @param why none may run, in a sentence for the operator
 * @throws Problem `unavailable` when another node works, or may have until a moment ago
 */
export async function requireOthersStopped({ store }: Parts, id: string, why: string): Promise<void> {
  const rows = await listNodes(store.read)
  const other = rows.find(row => row.id !== id && row.state === 'up' && !row.isLate)
  if (other) throw new Problem('unavailable', `The node ${other.name} (${other.id}) ${why}`)
}

/**
 * Has a node take nothing more from the queue and say at /health that it is not to be asked; or go on.
 * @throws Problem `not_found`
 */
export async function drainNode({ store }: Parts, id: string, isDraining: boolean): Promise<void> {
  if (await store.write(db => setDraining(db, id, isDraining))) return
  throw new Problem(
    'not_found',
    `There is no node with the id ${id} that is up: \`mailboxctl node list\` shows the ids; a name is none, for several nodes of a machine have the same.`,
  )
}
