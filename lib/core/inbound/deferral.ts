import { createHash } from 'node:crypto'
import { blockOf } from '../../base/network.ts'
import { Reply } from '../../base/reply.ts'
import { isoAfter } from '../../base/time.ts'
import { type Header, lastField } from '../../mail/header/header.ts'
import { deleteDeferralsBefore } from '../../store/authentication-deferrals.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { AuthenticationDeferralRow } from '../../store/tables.ts'
import type { App, Reads } from '../app/app.ts'

/** How long, from its first attempt, a message is deferred (451 4.7.26) that DNS does not let us judge. */
export const deferralMs = 4 * 3_600_000
/** How long such a message is remembered. */
const deferralKeptMs = 28 * 3_600_000

/**
 * Has a message come again later that can't be judged now, because DNS does not say what decides: for
 * deferralMs from its first attempt on, which a row remembers. After that it is taken for what is known of it.
 *
 * It is the same message by its reverse-path and Message-ID, for a sender may try again from another address. Who is to
 * be deferred chooses both, and gains nothing by choosing them anew. Rows are bounded for each block of addresses and in all; what
 * finds no room is deferred without one, and its time begins when there is.
 * @param note gives when the message was deferred first, as far as there is room to remember it
 * @throws Reply 451 4.7.26
 */
export async function deferUnknown(
  app: Reads,
  of: { readonly remoteAddress: string; readonly mailFrom: string; readonly header: Header },
  note: (row: AuthenticationDeferralRow) => Promise<string | undefined>,
): Promise<void> {
  const { remoteAddress, mailFrom, header } = of
  const now = app.clock.now()
  const name = lastField(header, 'message-id') ?? JSON.stringify(header.fields.map(({ value }) => value))
  const row = {
    id: createHash('sha256')
      .update(JSON.stringify([mailFrom, name]))
      .digest('hex'),
    network: blockOf(remoteAddress),
    firstAt: now.toISOString(),
  }
  const firstAt = await note(row)
  if (firstAt !== undefined && firstAt < isoAfter(now, -deferralMs)) return
  throw new Reply(
    451,
    '4.7.26',
    'The DNS of the domain in From does not answer what DMARC asks now; try again later',
  )
}

/** Forgets some messages that were deferred long ago; gives how many. */
export async function expireDeferrals(app: App): Promise<number> {
  const before = isoAfter(app.clock.now(), -deferralKeptMs)
  return app.store.writeHolding(holdsNothing, db => deleteDeferralsBefore(db, before, sweepRows))
}
