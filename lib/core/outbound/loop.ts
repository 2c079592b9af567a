import { Problem, replyLoopMessages } from '../../base/problem.ts'
import { Reply } from '../../base/reply.ts'
import { isoAfter } from '../../base/time.ts'
import { baseAddress, normaliseAddress } from '../../mail/address/address.ts'
import type { MessageFields } from '../../mail/header/fields.ts'
import { parentCandidates } from '../../mail/message/thread.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { filterInboxAddresses } from '../../store/inboxes.ts'
import { findThreadIdByMessageId, listExchanges } from '../../store/messages.ts'
import type { App, Reads } from '../app/app.ts'
import { secondsUntil } from '../quota/period.ts'

/** The newest messages of a thread that are counted. */
const replyLoopLookback = 200

/**
 * The same at the end of a delivery to an inbox here, however the message came to be sent.
 * @throws Reply 554 5.4.6
 */
export async function refuseLocalLoop(
  app: Reads,
  recipients: readonly { inboxId: string }[],
  message: MessageFields,
): Promise<void> {
  const peer = normaliseAddress(message.from?.address ?? '')
  if (peer === undefined) return
  for (const { inboxId } of recipients) {
    for (const candidate of parentCandidates(message)) {
      const threadId = await findThreadIdByMessageId(app.store.read, inboxId, candidate)
      if (threadId === undefined) continue
      if (await findLoopEnd(app, app.store.read, threadId, peer)) {
        throw new Reply(
          554,
          '5.4.6',
          'Too many messages between these two inboxes in this thread within an hour',
        )
      }
      break
    }
  }
}

const hourMs = 3_600_000

/** When the inbox of this thread and another inbox here may exchange another message in it; undefined: now. */
async function findLoopEnd(app: Reads, db: Db, threadId: string, peer: string): Promise<Date | undefined> {
  const since = isoAfter(app.clock.now(), -hourMs)
  const within = { since, lookback: replyLoopLookback, limit: replyLoopMessages }
  const passed = await listExchanges(db, threadId, peer, within)
  const oldest = passed.length === replyLoopMessages ? passed.at(-1) : undefined
  return oldest === undefined ? undefined : new Date(Date.parse(oldest) + hourMs)
}

/**
 * Bounds what two inboxes here write to each other in one thread: programs answer each other without end. Asked in the
 * write of the send.
 * @throws Problem `reply_loop`
 */
export async function requireNoReplyLoop(
  app: App,
  db: Db,
  threadId: string,
  recipients: readonly string[],
): Promise<void> {
  const ours = await filterInboxAddresses(
    db,
    recipients.flatMap(each => [each, baseAddress(each)]),
  )
  for (const address of ours) {
    const end = await findLoopEnd(app, db, threadId, address)
    if (!end) continue
    throw new Problem('reply_loop', undefined, {
      recipient: address,
      limit: replyLoopMessages,
      resetsAt: end.toISOString(),
      retryAfterSeconds: secondsUntil(end, app.clock.now()),
    })
  }
}
