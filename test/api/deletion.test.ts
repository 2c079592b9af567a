import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { listQueue } from '../../lib/core/outbound/operators-hand.ts'
import { findMessage } from '../../lib/store/messages.ts'
import { startApi } from '../support/api-app.ts'
import { findContradictions } from '../support/consistency.ts'

const letter = { to: 'bob@example.net', subject: 'Hello', body: 'Hi Bob' }

t.test('a message, and a thread with its messages', async t => {
  const { api, app, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body.id
  const { messageId, threadId } = (await api.send(inbox, letter)).body
  const large = Buffer.alloc(400_000, 'x').toString('base64')
  const reply = (
    await api.send(inbox, { ...letter, threadId, attachments: [{ filename: 'a', content: large }] })
  ).body
  const other = (await api.send(inbox, letter)).body
  const totals = async () => [
    (await api.get(`/v1/inboxes/${inbox}/messages`)).body.total,
    (await api.get(`/v1/inboxes/${inbox}/threads`)).body.total,
    (await listQueue(app, 10)).length,
  ]
  t.strictSame(await totals(), [3, 2, 3])
  const { rawId } = await app.store.read
    .selectFrom('message')
    .select('rawId')
    .where('id', '=', reply.messageId)
    .executeTakeFirstOrThrow()
  const file = join(app.config.data_dir, 'raw', rawId!.slice(-2), rawId!)
  t.ok(existsSync(file))

  t.equal((await api.delete(`/v1/messages/${reply.messageId}`)).status, 204)
  t.notOk(existsSync(file), 'the bytes went too')
  t.strictSame(await totals(), [2, 2, 2])
  t.match((await api.get(`/v1/threads/${threadId}`)).body, { messageCount: 1 })
  for (const path of ['', '/raw', '/deliveries']) {
    t.equal((await api.get(`/v1/messages/${reply.messageId}${path}`)).status, 404)
  }
  t.equal((await api.delete(`/v1/messages/${reply.messageId}`)).body.error, 'not_found')
  t.equal((await api.delete('/v1/messages/x')).body.error, 'not_found')

  t.equal((await api.delete(`/v1/messages/${messageId}`)).status, 204)
  t.equal((await api.get(`/v1/threads/${threadId}`)).status, 404, 'the last message takes the thread along')
  await api.send(inbox, { ...letter, threadId: other.threadId })
  t.strictSame(await totals(), [2, 1, 2])
  t.equal((await api.delete(`/v1/threads/${other.threadId}`)).status, 204)
  t.strictSame(await totals(), [0, 0, 0])
  t.equal((await api.get(`/v1/messages/${other.messageId}`)).status, 404)
  t.equal((await api.delete(`/v1/threads/${other.threadId}`)).body.error, 'not_found')
  t.strictSame(await findContradictions(app.config.data_dir), [])
  t.strictSame(faults, [])
})

t.test('all that was in an inbox goes with it at once, whenever its rows go', async t => {
  const { api, app, apiWith, faults } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const inbox = (await api.post('/v1/inboxes', { podId: pod })).body.id
  const ofPod = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
  const { messageId, threadId } = (await api.send(inbox, letter)).body
  const draft = (await api.post(`/v1/inboxes/${inbox}/drafts`, letter)).body.id
  const ids: Record<string, string> = {
    messages: messageId,
    threads: threadId,
    drafts: draft,
    inboxes: inbox,
  }
  const bodies: Record<string, object> = {
    replyToMessage: { body: 'b' },
    replyAllToMessage: { body: 'b' },
    forwardMessage: { to: 'bob@example.net' },
    updateThread: { isRead: true },
    updateDraft: { subject: 's' },
    updateInbox: { displayName: 'x' },
    sendMessage: letter,
    createDraft: letter,
    createInboxApiKey: {},
  }
  t.equal((await api.delete(`/v1/inboxes/${inbox}`)).status, 204)
  t.ok(await findMessage(app.store.read, messageId), 'its rows are there for a while')
  for (const { id, method, path } of operations) {
    const [, noun = '', rest = ''] = /^\/v1\/(\w+)\/\{id\}(.*)$/.exec(path) ?? []
    const known = ids[noun]
    if (known === undefined) continue
    // Webhooks are for keys of the account.
    for (const asked of rest.startsWith('/webhook/') ? [api] : [api, ofPod]) {
      const answers = []
      for (const name of [known, app.ids.next()]) {
        const to = `/v1/${noun}/${name}${rest.replace(/\{\w+\}/, app.ids.next())}`
        const { status, body } = await asked.call(method.toUpperCase(), to, bodies[id], {
          'idempotency-key': `${id}${name}`,
        })
        answers.push([status, body])
      }
      t.match(answers[0], [404, { error: 'not_found' }], id)
      t.strictSame(answers[0], answers[1], `${id} says of it what is said of one that never was`)
    }
  }
  for (const noun of ['messages', 'threads', 'inboxes'])
    t.strictSame((await api.get(`/v1/${noun}`)).body.data, [], noun)
  t.strictSame(faults, [])
})
