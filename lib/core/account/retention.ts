import { setImmediate } from 'node:timers/promises'
import { categories } from '../../base/ids.ts'
import { isoAfter } from '../../base/time.ts'
import type { Category } from '../../model/message.ts'
import { type InboxOfPod, listInboxesOfPods } from '../../store/inboxes.ts'
import { countExpired, deleteFromThreads, type Expired, listExpired } from '../../store/removal.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { App } from '../app/app.ts'
import { writeAndRemove } from '../mailbox/deletion.ts'

/** Messages that a write deletes at the most because of their age. */
const expiredAtOnce = 50

/** Which messages are kept for how long; without a time, for ever. What is left out means all. */
export interface RetentionRule {
  readonly keepMs?: number
  /** The address of an inbox. */
  readonly inbox?: string
  /** The id or clientId of a pod. */
  readonly pod?: string
  readonly category?: Category
}

/**
 * Deletes messages that are older than their rule lets them be, some in a write, one inbox after the other. Of the rules that mean a
 * message the first counts; what none means is kept, and so is what is on its way out.
 * @returns how many
 */
export async function deleteExpired(
  app: App,
  rules: readonly RetentionRule[],
  isStopping = () => false,
): Promise<number> {
  let count = 0
  for await (const expired of expiredOfAll(app, rules)) {
    for (let some = 1; some > 0 && !isStopping(); ) {
      await writeAndRemove(app, expired.inboxId, async db => {
        const messages = await listExpired(db, expired, expiredAtOnce)
        some = messages.length
        return deleteFromThreads(db, messages)
      })
      count += some
      await setImmediate()
    }
    if (isStopping()) break
  }
  return count
}

/** How many messages these rules mean just now. */
export async function countAllExpired(app: App, rules: readonly RetentionRule[]): Promise<number> {
  let count = 0
  for await (const expired of expiredOfAll(app, rules)) count += await countExpired(app.store.read, expired)
  return count
}

async function* expiredOfAll(app: App, rules: readonly RetentionRule[]): AsyncGenerator<Expired> {
  const now = app.clock.now()
  for (let after = '', isMore = rules.length > 0; isMore; ) {
    const inboxes = await listInboxesOfPods(app.store.read, after, sweepRows)
    for (const inbox of inboxes) {
      yield* expiredOf(rules, inbox, now)
      // With ten thousand inboxes others have their turn.
      await setImmediate()
    }
    after = inboxes.at(-1)?.id ?? after
    isMore = inboxes.length > 0
  }
}

/** What the rules mean of one inbox: one time for all of it, or for each category its own. */
function expiredOf(rules: readonly RetentionRule[], inbox: InboxOfPod, now: Date): Expired[] {
  const ofInbox = rules.filter(
    ({ inbox: address, pod }) =>
      (address === undefined || address.toLowerCase() === inbox.address) &&
      (pod === undefined || pod === inbox.podId || pod === inbox.podClientId),
  )
  const kept = categories.map(
    category => ofInbox.find(one => one.category === undefined || one.category === category)?.keepMs,
  )
  const expired = (keepMs: number) => ({ inboxId: inbox.id, before: isoAfter(now, -keepMs) })
  const [first] = kept
  if (kept.every(keepMs => keepMs === first)) return first === undefined ? [] : [expired(first)]
  return categories.flatMap((category, index) => {
    const keepMs = kept[index]
    return keepMs === undefined ? [] : [{ ...expired(keepMs), category }]
  })
}
