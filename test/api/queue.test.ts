import t from 'tap'
import { createInbox } from '../../lib/core/account/inboxes.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { startApi } from '../support/api-app.ts'

t.test('the queue is seen and handled by account keys', async t => {
  const { app, api } = await startApi(t)
  const inbox = await createInbox(app, operator, { mailboxName: 'ann' })
  const letter = { to: 'bob@theirs.example', subject: 's', body: 'b' }
  const { messageId } = (await api.send(inbox.id, letter)).body
  const list = await api.get('/v1/queue?domain=Theirs.example&limit=1')
  t.match(list, {
    status: 200,
    body: { total: 1, data: [{ messageId, recipient: letter.to, state: 'waiting' }] },
  })
  t.same((await api.get('/v1/queue?domain=other.example')).body, { data: [], total: 0 })
  t.same((await api.get('/v1/queue?offset=1')).body, { data: [], total: 1 })
  t.equal((await api.get('/v1/queue?podId=nowhere')).status, 404)
  t.equal((await api.get('/v1/queue?domain=no_domain!')).status, 400)
  const why = await api.get(`/v1/queue/${messageId}`)
  t.match(why.body.data, [{ messageId, outlook: /waits for its turn|due/, log: [] }])

  const held = { inboxId: inbox.address }
  t.match((await api.post('/v1/queue/hold', held)).body, { matched: 1, changed: null }, 'counted first')
  t.same((await api.get('/v1/queue-holds')).body, { data: [] })
  t.match((await api.post('/v1/queue/hold', { ...held, confirm: true })).body, { matched: 1, changed: 1 })
  t.match((await api.get('/v1/queue-holds')).body.data, [{ inboxId: inbox.id, podId: null, domain: null }])
  t.match((await api.get('/v1/queue?state=held')).body, { total: 1 })
  t.match((await api.post('/v1/queue/release', { ...held, confirm: true })).body, { matched: 1, changed: 1 })
  t.same((await api.get('/v1/queue-holds')).body, { data: [] })
  t.match(
    (await api.post('/v1/queue/retry', { confirm: true })).body,
    { matched: 1, changed: 1 },
    'all of it',
  )
  t.equal((await api.post('/v1/queue/cancel', { confirm: true })).status, 400, 'never all of it')
  t.match((await api.post('/v1/queue/cancel', { ids: [messageId] })).body, { matched: 1, changed: 1 })
  t.equal((await api.post('/v1/queue/cancel', { ids: [messageId] })).status, 404)
  t.match((await api.get(`/v1/messages/${messageId}/deliveries`)).body, { data: [{ state: 'cancelled' }] })
})
