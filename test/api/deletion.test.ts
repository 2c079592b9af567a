import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { listQueue } from '../../lib/core/outbound/operators-hand.ts'
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
