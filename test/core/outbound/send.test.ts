import t, { type Test } from 'tap'
import { createInbox, deleteInbox } from '../../../lib/core/account/inboxes.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deleteThread } from '../../../lib/core/mailbox/deletion.ts'
import { changeThread, listThreads } from '../../../lib/core/mailbox/threads.ts'
import { signerOf } from '../../../lib/core/outbound/composing.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { startApi } from '../../support/api-app.ts'
import { beforeWrites } from '../../support/interrupted.ts'

const letter = { to: 'bob@example.net', subject: 's', body: 'b' }
const page = { limit: 10, offset: 0 }

/** An App in which `meanwhile` is done between the composing of a send and its write. */
async function appWith(t: Test, meanwhile: (app: App) => Promise<void>): Promise<{ app: App; late: App }> {
  const { app } = await startApi(t)
  const store = beforeWrites(app.store, () => meanwhile(app))
  return { app, late: Object.create(app, { store: { value: store } }) }
}

t.test('a thread or an inbox that is deleted while its message is composed is not found', async t => {
  let meanwhile = async (_app: App) => {}
  const { app, late } = await appWith(t, the => meanwhile(the))
  const inbox = (await createInbox(app, operator, {})).id
  const { threadId } = await send(app, operator, inbox, letter, 'first')
  const count = async () => (await app.store.read.selectFrom('message').select('id').execute()).length

  meanwhile = async the => {
    await deleteThread(the, operator, threadId)
  }
  const reply = { to: letter.to, threadId, body: 'b' }
  await t.rejects(send(late, operator, inbox, reply, 'reply'), { code: 'not_found' })
  t.equal(await count(), 0, 'nothing was written')

  meanwhile = async the => {
    await deleteInbox(the, operator, inbox)
  }
  await t.rejects(send(late, operator, inbox, letter, 'last'), { code: 'not_found' })
  t.equal(await count(), 0)
})

t.test('a thread that is read while its answer is composed is counted once', async t => {
  let threadId = ''
  const { app, late } = await appWith(t, the => changeThread(the, operator, threadId, { is_read: true }))
  const inbox = (await createInbox(app, operator, {})).id
  threadId = (await send(app, operator, inbox, letter, 'first')).threadId
  await changeThread(app, operator, threadId, { is_read: false })
  const unread = async () => (await listThreads(app, operator, inbox, { isRead: false }, page)).total
  t.equal(await unread(), 1)
  await send(late, operator, inbox, { to: letter.to, threadId, body: 'b' }, 'reply')
  t.equal(await unread(), 0)
})

t.test('nothing is sent unsigned, also where the row of its domain is gone', async t => {
  const { app } = await startApi(t)
  const inbox = (await createInbox(app, operator, {})).id
  await app.store.write(db => db.deleteFrom('domain').execute())
  await t.rejects(send(app, operator, inbox, letter, 'first'), { code: 'unverified_domain' })
  await t.rejects(signerOf(app, 'ann@ours.example', new Date()), /no domain row for ann@ours\.example/)
  for (const table of ['message', 'delivery', 'queueEntry'] as const) {
    t.strictSame(await app.store.read.selectFrom(table).select('id').execute(), [], table)
  }
})
