import { v7 } from 'uuid'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { prepareReception } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { writeReceptions } from '../../../lib/core/inbound/write.ts'
import { waitForMessages } from '../../../lib/core/mailbox/wait.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { createQueue } from '../../../lib/queue/queue.ts'
import { appOn } from '../../support/app-on.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { membersOf } from '../../support/members.ts'

/** The same node, with a clock that is as far off. */
function withClockOff(app: App, ms: number): App {
  const now = () => new Date(app.clock.now().getTime() + ms)
  return Object.create(app, { clock: { value: { ...app.clock, now } } })
}

onEveryDatabase(
  'who goes on from the last time that was seen misses no mail, however the clocks of nodes differ',
  async (t, store) => {
    const bare = await appOn(t, store, '')
    const queue = createQueue({
      store,
      clock: bare.clock,
      ids: bare.ids,
      members: membersOf('n'),
      random: () => 0.5,
    })
    const right: App = Object.create(bare, { queue: { value: queue } })
    const [ahead, behind] = [withClockOff(right, 5_000), withClockOff(right, -5_000)]
    const inbox = await createInbox(right, operator, {})
    const other = await createInbox(right, operator, {})
    const bring = async (app: App, subjects: readonly string[], header = '') => {
      const receptions = await Promise.all(
        subjects.map(async subject =>
          prepareReception(createReceiver(app), {
            sessionId: 's',
            mailFrom: 'bob@example.net',
            recipients: await Promise.all([inbox, other].map(one => resolveRecipient(app, one.address))),
            content: {
              kind: 'memory',
              bytes: Buffer.from(
                `From: bob@example.net\r\nMessage-ID: <${subject}@example.net>\r\n${header}Subject: ${subject}\r\n\r\nHello\r\n`,
              ),
            },
            peer: { kind: 'local' },
          }),
        ),
      )
      await store.write(db => writeReceptions(app, db, receptions))
    }
    let after = right.clock.now().toISOString()
    const seen: string[] = []
    /** What an agent does that asks one node after the other. */
    const look = async () => {
      const { data } = await waitForMessages(
        right,
        operator,
        inbox.id,
        { after },
        0,
        new AbortController().signal,
      )
      for (const one of data.toReversed()) {
        seen.push(one.subject)
        if (one.createdAt > after) after = one.createdAt
      }
    }
    await bring(ahead, ['one'])
    await look()
    await bring(behind, ['two'])
    await look()
    await bring(right, ['three', 'four', 'five'], 'In-Reply-To: <one@example.net>\r\n')
    await look()
    const letter = { to: 'bob@theirs.example', subject: 'sent', body: 'b' }
    const { messageId } = await send(behind, operator, inbox.id, letter, v7())
    await bring(behind, ['six'])
    await look()
    t.strictSame(seen, ['one', 'two', 'three', 'four', 'five', 'six'])

    // At once, by nodes whose clocks differ: each has a time of its own.
    await Promise.all(Array.from({ length: 12 }, (_, n) => bring(n % 2 ? ahead : behind, [`a${n}`, `b${n}`])))
    const rows = await store.read
      .selectFrom('message')
      .select(['id', 'createdAt', 'threadId', 'subject'])
      .where('inboxId', '=', inbox.id)
      .orderBy('createdAt')
      .execute()
    t.equal(new Set(rows.map(({ createdAt }) => createdAt)).size, 31)
    t.equal(rows[5]!.id, messageId, 'what was sent stands where it was committed')
    const [thread] = await store.read
      .selectFrom('thread')
      .selectAll()
      .where('id', '=', rows[0]!.threadId)
      .execute()
    t.equal(thread!.lastMessageAt, rows[4]!.createdAt, 'a thread is dated by its last message')
    await store.placed()
  },
)
