import t from 'tap'
import { replyLoopMessages } from '../../../lib/base/problem.ts'
import { isoAfter } from '../../../lib/base/time.ts'
import type { Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import type { SendRequest } from '../../../lib/model/send.ts'
import { carryAll } from '../../support/carry-all.ts'
import { openDoor } from '../../support/smtp-door.ts'

let keys = 0
const post = (app: Networked, from: string, request: SendRequest) =>
  send(app, operator, from, request, `key ${++keys}`)

/** The thread of the newest message that an inbox has received. */
async function newestThread(app: Networked, inboxId: string): Promise<string> {
  const row = await app.store.read
    .selectFrom('message')
    .select('threadId')
    .where('inboxId', '=', inboxId)
    .where('direction', '=', 'inbound')
    .orderBy('id', 'desc')
    .executeTakeFirstOrThrow()
  return row.threadId
}

t.test('two inboxes that answer each other are stopped after 20 messages in an hour', async t => {
  // What is made an hour older may become a message of the day before.
  const { app, inbox } = await openDoor(t, { breaks: ['usage'] })
  const [ann, bea] = [await inbox('ann'), await inbox('bea')]
  const { threadId } = await post(app, ann, { to: 'bea@ours.example', subject: 's', body: '1' })
  await carryAll(app)
  const ofBea = await newestThread(app, bea)
  for (let sent = 1; sent < replyLoopMessages; sent++) {
    await (sent % 2
      ? post(app, bea, { to: 'ann+x@ours.example', threadId: ofBea, body: 'again' })
      : post(app, ann, { to: 'bea@ours.example', threadId, body: 'again' }))
    await carryAll(app)
  }
  t.equal(await newestThread(app, ann), threadId)
  const began = await app.store.read
    .selectFrom('message')
    .select('createdAt')
    .where('threadId', '=', threadId)
    .orderBy('id')
    .executeTakeFirstOrThrow()
  const resetsAt = isoAfter(new Date(began.createdAt), 3_600_000)
  for (const request of [
    { to: 'bea@ours.example', threadId, body: 'more' },
    { to: 'bob@example.net', cc: ['bea+tag@ours.example'], threadId, body: 'more' },
  ]) {
    const refusal = await post(app, ann, request).catch(error => error)
    t.match(refusal, { code: 'reply_loop', more: { recipient: 'bea@ours.example', resetsAt } })
    const left = (Date.parse(resetsAt) - app.clock.now().getTime()) / 1000
    t.ok(Math.abs(refusal.more.retryAfterSeconds - left) <= 1.5, `${refusal.more.retryAfterSeconds}`)
  }
  await t.rejects(post(app, bea, { to: 'ann@ours.example', threadId: ofBea, body: 'x' }), {
    code: 'reply_loop',
  })
  await post(app, ann, { to: 'bob@example.net', threadId, body: 'others can be written to' })
  await post(app, ann, { to: 'bea@ours.example', subject: 's', body: 'another thread' })

  // Old messages do not count.
  await app.store.write(db =>
    db
      .updateTable('message')
      .set({ createdAt: isoAfter(app.clock.now(), -3_600_001) })
      .where('createdAt', '=', began.createdAt)
      .execute(),
  )
  t.equal((await post(app, ann, { to: 'bea@ours.example', threadId, body: 'more' })).threadId, threadId)
})

t.test('50 answers at once: no more than 20 pass', async t => {
  const { app, inbox } = await openDoor(t)
  const ann = await inbox('ann')
  await inbox('bea')
  const { threadId } = await post(app, ann, { to: 'bea@ours.example', subject: 's', body: '1' })
  const request = { to: 'bea@ours.example', threadId, body: 'again' }
  const all = await Promise.allSettled(Array.from({ length: 50 }, () => post(app, ann, request)))
  t.equal(all.filter(one => one.status === 'fulfilled').length, replyLoopMessages - 1)
})

t.test('the delivery to an inbox here is bounded too', async t => {
  // Its messages have no events, and its thread counts none of them.
  const { app, inbox } = await openDoor(t, {
    breaks: ['received', 'inbound', 'storage', 'thread', 'search', 'unread', 'usage'],
  })
  const [ann, bea] = [await inbox('ann'), await inbox('bea')]
  const first = await post(app, ann, { to: 'bea@ours.example', subject: 's', body: '1' })
  await carryAll(app)
  const thread = await newestThread(app, bea)
  // Twenty that did not go through a send of ours.
  const row = await app.store.read
    .selectFrom('message')
    .selectAll()
    .where('threadId', '=', thread)
    .executeTakeFirstOrThrow()
  await app.store.write(async db => {
    for (let made = 1; made < replyLoopMessages; made++) {
      await db
        .insertInto('message')
        .values({ ...row, id: app.ids.next(), rfcMessageId: `<${made}@x>` })
        .execute()
    }
  })
  const { messageId } = await post(app, ann, { to: 'bea@ours.example', threadId: first.threadId, body: '2' })
  await carryAll(app)
  const delivery = await app.store.read
    .selectFrom('delivery')
    .selectAll()
    .where('messageId', '=', messageId)
    .executeTakeFirstOrThrow()
  t.match(delivery, { state: 'failed', replyCode: 554, replyEnhanced: '5.4.6' })
  const suppressed = await app.store.read.selectFrom('suppression').selectAll().execute()
  t.strictSame(suppressed, [], 'that says nothing about the recipient')
})
