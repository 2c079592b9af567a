import { isoAfter } from '../../base/time.ts'
import type { Me, Usage, UsageLimits } from '../../model/usage.ts'
import { deleteDaysBefore } from '../../store/daily-usage.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { countInScope } from '../../store/inboxes.ts'
import { findPod } from '../../store/pods.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { InboxRow } from '../../store/tables.ts'
import { deleteUsageBefore, findUsage } from '../../store/usage.ts'
import type { App, Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getAccountRow, getInboxRow } from '../app/reach.ts'
import { type HistoryAsked, readHistory } from './history.ts'
import { nextDay, nextMonth, utcDay } from './period.ts'
import { coldLimit, planOf, readAccountUsage } from './plan.ts'

/** How long daily and monthly counts are kept. */
const usageDays = 400

export async function getMe(app: Rows, { podId, inboxId }: Caller): Promise<Me> {
  const { id: accountId } = await getAccountRow(app.store.read)
  return { accountId, plan: app.config.plan, apiKeyScope: podId === null ? 'account' : { podId, inboxId } }
}

const limitOf = (count: number) => (count === 0 ? null : count)

/**
 * What was sent and received within the caller's reach, or by the inbox that is named; and what counts against which limit.
 * @throws Problem `not_found` for an inbox that the caller does not reach; as `readHistory`
 */
export async function getUsage(
  app: Rows,
  caller: Caller,
  { inboxId, ...asked }: HistoryAsked & { readonly inboxId?: string | undefined },
): Promise<Usage> {
  const named = inboxId ?? caller.inboxId
  const inbox = named === null ? null : await getInboxRow(app.store.read, caller, named)
  const scope = { podId: caller.podId, inboxId: inbox?.id ?? null }
  return { ...(await readHistory(app, scope, asked)), limits: await readLimits(app, caller, inbox) }
}

/** The account's for an account key, and that of an inbox where one is named (an inbox key's own without). */
async function readLimits(app: Rows, caller: Caller, inbox: InboxRow | null): Promise<UsageLimits> {
  const now = app.clock.now()
  const db = app.store.read
  const plan = planOf(app)
  const account = caller.podId === null ? await readAccountUsage(app, db) : null
  const [day, month] = [nextDay(now).toISOString(), nextMonth(now).toISOString()]
  return {
    plan: app.config.plan,
    inboxes: account && { used: account.inboxes, limit: limitOf(plan.inboxes) },
    inboxCreations: account && {
      used: account.inboxCreations,
      limit: limitOf(app.config.limits.inbox_creations_per_day),
      resetsAt: day,
    },
    messages: account && {
      used: account.messages,
      limit: limitOf(plan.messages_per_month),
      resetsAt: month,
    },
    coldRecipients: inbox && {
      used: await findUsage(db, inbox.id, 'cold', utcDay(now)),
      limit: limitOf(coldLimit(app, inbox, now)),
      resetsAt: day,
    },
    ...(await readStorage(app, inbox, caller.podId ?? inbox?.podId ?? null)),
  }
}

async function readStorage(
  { store, config }: Rows,
  inbox: InboxRow | null,
  podId: string | null,
): Promise<Pick<UsageLimits, 'inboxStorage' | 'podStorage'>> {
  const db = store.read
  const pod = podId === null ? undefined : await findPod(db, podId)
  const { inbox_bytes: inboxBytes, pod_bytes: podBytes } = config.storage
  return {
    inboxStorage: inbox && { used: inbox.storedKiB * 1024, limit: limitOf(inboxBytes) },
    podStorage: pod
      ? {
          used: (await countInScope(db, { podId: pod.id, inboxId: null })).storedKiB * 1024,
          limit: pod.isDefault === 1 ? null : limitOf(podBytes),
        }
      : null,
  }
}

/** Deletes some of the counts that are too old; gives how many. */
export async function expireUsage(app: App): Promise<number> {
  const before = isoAfter(app.clock.now(), -usageDays * 86_400_000).slice(0, 10)
  // Only the hour that is under way is asked for.
  const today = isoAfter(app.clock.now(), 0).slice(0, 10)
  return app.store.writeHolding(holdsNothing, async db => {
    let done = await deleteUsageBefore(db, 'recipients', today, sweepRows)
    for (const kind of ['inboxes', 'messages', 'cold', 'feedback']) {
      done += await deleteUsageBefore(db, kind, before, sweepRows)
    }
    return done + (await deleteDaysBefore(db, before, sweepRows))
  })
}
