import { isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { Problem } from '../../base/problem.ts'
import type { Message } from '../../model/message.ts'
import { searchMessages } from '../../store/search/search.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow } from '../app/reach.ts'
import { presentMessages } from './messages.ts'
import { readFilter } from './search-filter.ts'

/** What is waited for: inbound mail, all of it or what these say. */
export interface Awaited {
  readonly from?: string | undefined
  readonly subject?: string | undefined
  /** An instant: mail after it counts, also when it is there already. Without it only mail that comes from now on. */
  readonly after?: string | undefined
  /** Also what a scanner found to be malicious, which an agent should not read unasked. */
  readonly includeMalicious?: boolean | undefined
}

/** A message bears the time of its write and is seen after its commit: never longer than this in between. */
const commitMs = 10_000

/**
 * The messages that are waited for, newest first, as soon as there is one; none when `timeoutMs` are over.
 * @throws Problem `not_found`, `invalid_request`; `unavailable` when too many wait, or what `signal` is aborted with
 */
export async function waitForMessages(
  app: App,
  caller: Caller,
  inboxId: string,
  awaited: Awaited,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<Message[]> {
  const inbox = await getInboxRow(app.store.read, caller, inboxId)
  const { includeMalicious = false, ...asked } = awaited
  const exceptCategory = includeMalicious ? undefined : 'malicious'
  const filter = { ...readFilter(asked), direction: 'inbound', exceptCategory }
  const after = filter.after ?? isoAfter(app.clock.now(), -commitMs)
  const look = async () => {
    const page = { limit: limits.pageSizeMax, offset: 0 }
    const scope = { podId: inbox.podId, inboxId: inbox.id }
    return (await searchMessages(app.store.read, scope, { ...filter, after }, page)).rows
  }
  if (app.waiters.count() >= limits.waiters)
    throw new Problem('unavailable', 'Too many requests wait for mail. Try again shortly.')
  const until = app.clock.monotonicMs() + timeoutMs
  const known = new Set(awaited.after ? [] : (await look()).map(row => row.id))
  // Watched before it is looked for, so that nothing comes in between.
  const watch = app.waiters.watch(inbox.id, signal)
  try {
    for (;;) {
      signal.throwIfAborted()
      const found = (await look()).filter(row => !known.has(row.id))
      if (found.length > 0) return presentMessages(app, found)
      const left = until - app.clock.monotonicMs()
      if (left <= 0) return []
      // Now and then without being told: another process may have received it.
      await watch.next(Math.min(left, limits.waitPollMs))
    }
  } finally {
    watch.end()
  }
}
