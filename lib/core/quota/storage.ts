import { Problem } from '../../base/problem.ts'
import { Reply } from '../../base/reply.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { countInScope, kibOf, listStored } from '../../store/inboxes.ts'
import { findPod } from '../../store/pods.ts'
import type { InboxRow } from '../../store/tables.ts'
import type { Reads } from '../app/app.ts'

/** An inbox or a pod that has no room for more. */
interface FullStorage {
  readonly setting: 'storage.inbox_bytes' | 'storage.pod_bytes'
  readonly usedBytes: number
  readonly limitBytes: number
}

/** How long this process remembers what a pod stores. Other processes may store more in this time. */
const rememberedMs = 10_000
const rememberedPods = 10_000

interface PodStorage {
  readonly isLimited: boolean
  readonly untilMs: number
  storedKiB: number
}
const pods = new WeakMap<Db, Map<string, PodStorage>>()

/** What the pod stores. The default pod is the account's own and has no limit. */
async function findPodStorage({ store, clock }: Reads, db: Db, podId: string): Promise<PodStorage> {
  const known = pods.get(store.read) ?? new Map<string, PodStorage>()
  pods.set(store.read, known)
  const now = clock.monotonicMs()
  const remembered = known.get(podId)
  if (remembered && remembered.untilMs > now) return remembered
  const pod = await findPod(db, podId)
  const isLimited = pod !== undefined && pod.isDefault === 0
  const storedKiB = isLimited ? (await countInScope(db, { podId, inboxId: null })).storedKiB : 0
  if (known.size >= rememberedPods) known.clear()
  // A pod stays the default pod.
  const found = { isLimited, storedKiB, untilMs: isLimited ? now + rememberedMs : Number.POSITIVE_INFINITY }
  known.set(podId, found)
  return found
}

type Stored = Pick<InboxRow, 'storedKiB' | 'isSystem'>

/** The mail of postmaster and abuse is always accepted (RFC 5321 section 4.5.1). */
function findFullInbox(app: Reads, inbox: Stored, moreKiB: number): FullStorage | undefined {
  const limitBytes = app.config.storage.inbox_bytes
  if (limitBytes === 0 || inbox.isSystem === 1) return undefined
  if ((inbox.storedKiB + moreKiB) * 1024 <= limitBytes) return undefined
  return { setting: 'storage.inbox_bytes', usedBytes: inbox.storedKiB * 1024, limitBytes }
}

async function findFullPod(
  app: Reads,
  db: Db,
  podId: string,
  moreKiB: number,
): Promise<FullStorage | undefined> {
  const limitBytes = app.config.storage.pod_bytes
  if (limitBytes === 0) return undefined
  const { isLimited, storedKiB } = await findPodStorage(app, db, podId)
  if (!isLimited || (storedKiB + moreKiB) * 1024 <= limitBytes) return undefined
  return { setting: 'storage.pod_bytes', usedBytes: storedKiB * 1024, limitBytes }
}

/**
 * @param db in a write its own handle: another connection may not be free
 * @throws Problem `storage_full` if the inbox or its pod has no room for so much more
 */
export async function requireStorage(
  app: Reads,
  db: Db,
  inbox: Stored & Pick<InboxRow, 'podId'>,
  moreKiB = 1,
): Promise<void> {
  const full = findFullInbox(app, inbox, moreKiB) ?? (await findFullPod(app, db, inbox.podId, moreKiB))
  if (!full) return
  const { setting, usedBytes, limitBytes } = full
  const owner = setting === 'storage.pod_bytes' ? 'the pod of this inbox' : 'this inbox'
  const bytes = usedBytes + moreKiB * 1024
  const message = `With this, ${owner} would store ${bytes} bytes, and its limit is ${limitBytes} (${setting}). Delete messages, threads or drafts with attachments, or ask the operator to raise the limit.`
  throw new Problem('storage_full', message, { limit: limitBytes })
}

/**
 * @param copies the number of inboxes in the pod that get the message, with this one
 * @throws Reply 452 4.2.2 if the inbox or its pod has no room for a message of this size
 */
export async function requireMailboxRoom(
  app: Reads,
  inbox: InboxRow,
  sizeBytes: number,
  copies: number,
): Promise<void> {
  const sizeKiB = Math.max(1, kibOf(sizeBytes))
  const full =
    findFullInbox(app, inbox, sizeKiB) ??
    (await findFullPod(app, app.store.read, inbox.podId, sizeKiB * copies))
  if (full) throw mailboxFull(full)
}

/** A message that is about to be written to an inbox. */
export interface NewMessage {
  readonly inboxId: string
  readonly podId: string
  readonly sizeKiB: number
}

/**
 * Finds the receptions that an inbox or a pod has no room for, in the write that stores the others. After DATA there is one reply
 * for all recipients. So RCPT has refused those without room for the size that MAIL announced.
 * @param receptions the messages that each consists of, one for each inbox
 * @returns for each reception its refusal, or undefined
 */
export async function refuseOverQuota(
  app: Reads,
  db: WriteDb,
  receptions: readonly (readonly NewMessage[])[],
): Promise<(Reply | undefined)[]> {
  const { inbox_bytes: inboxBytes, pod_bytes: podBytes } = app.config.storage
  if (inboxBytes === 0 && podBytes === 0) return []
  const ids = receptions.flat().map(({ inboxId }) => inboxId)
  const inboxes = new Map<string, Stored>(
    inboxBytes === 0 ? [] : (await listStored(db, ids)).map(row => [row.id, row]),
  )
  const refusals: (Reply | undefined)[] = []
  for (const messages of receptions) {
    let full: FullStorage | undefined
    const ofPods = new Map<string, number>()
    for (const { inboxId, podId, sizeKiB } of messages) {
      const inbox = inboxes.get(inboxId)
      ofPods.set(podId, (ofPods.get(podId) ?? 0) + sizeKiB)
      full ??= inbox && findFullInbox(app, inbox, sizeKiB)
      full ??= await findFullPod(app, db, podId, ofPods.get(podId)!)
    }
    refusals.push(full && mailboxFull(full))
    if (full) continue
    for (const { inboxId, podId, sizeKiB } of messages) {
      const inbox = inboxes.get(inboxId)
      if (inbox) inbox.storedKiB += sizeKiB
      if (podBytes > 0) (await findPodStorage(app, db, podId)).storedKiB += sizeKiB
    }
  }
  return refusals
}

/** Transient: the sender tries again for days, and the user may delete mail meanwhile. */
function mailboxFull({ setting, usedBytes, limitBytes }: FullStorage): Reply {
  return new Reply(
    452,
    '4.2.2',
    'Mailbox full',
    `${setting}: ${usedBytes} bytes are stored, ${limitBytes} are allowed`,
  )
}
