import t from 'tap'
import { recordEvent } from '../../lib/core/events/record.ts'
import { startApi } from '../support/api-app.ts'

t.test('events are listed by scope, inbox, type and cursor', async t => {
  const { api, apiWith, app, faults } = await startApi(t)
  const pod = (await api.post('/v1/pods', {})).body.id
  const one = (await api.post('/v1/inboxes', {})).body
  const two = (await api.post('/v1/inboxes', { podId: pod })).body
  const happened = [
    [one, 'message.received', { recipient: 'a' }],
    [two, 'message.received', {}],
    [one, 'message.sent', {}],
    [two, 'message.sent', {}],
  ] as const
  await app.store.write(async db => {
    for (const [inbox, type, payload] of happened) {
      const subject = { podId: inbox.podId, inboxId: inbox.id, threadId: null, messageId: null }
      await recordEvent(app, db, type, subject, payload)
    }
  })
  const listed = async (query: string, client = api) =>
    (await client.get(`/v1/events${query}`)).body.data.map((event: { delivered_at: string }) => {
      // When it was told, which is now, and later each time.
      const { delivered_at, ...told } = event
      t.match(delivered_at, /Z$/)
      return told
    })
  const all = await listed('')
  t.match(
    all.map((event: { inbox_id: string; event: string; data: object }) => [
      event.inbox_id,
      event.event,
      event.data,
    ]),
    happened.map(([inbox, type, payload]) => [inbox.id, type, payload]),
  )
  t.strictSame(await listed(`?inboxId=${two.id.toUpperCase()}`), [all[1], all[3]])
  t.strictSame(await listed('?type=message.sent'), [all[2], all[3]])
  t.match(await api.get('/v1/events?type=message.recieved'), {
    status: 400,
    body: {
      error: 'invalid_request',
      message: /query\/type must be one of .*did you mean "message\.received"\?/,
    },
  })
  t.strictSame(await listed('?limit=3'), all.slice(0, 3))
  t.strictSame(await listed(`?limit=3&after=${all[2].event_id.toUpperCase()}`), [all[3]])
  t.strictSame(await listed(`?after=${all[3].event_id}`), [])
  t.strictSame(await listed('?newest=true&limit=3'), all.slice(1), 'the newest, oldest first')
  t.strictSame(await listed('?newest=false&limit=1'), all.slice(0, 1))
  t.strictSame(await listed('?newest=true&limit=1&type=message.sent'), [all[3]])
  t.strictSame(await listed(`?newest=true&limit=2&after=${all[2].event_id}`), [all[3]])
  for (const path of [`pods/${pod}`, `inboxes/${two.id}`]) {
    const narrow = apiWith((await api.post(`/v1/${path}/api-keys`, {})).body.token)
    t.strictSame(await listed('', narrow), [all[1], all[3]])
    t.strictSame(
      await listed(`?after=${all[0].event_id}&limit=1`, narrow),
      [all[1]],
      'a cursor is but a place',
    )
    t.equal((await narrow.get(`/v1/events?inboxId=${one.id}`)).body.error, 'not_found')
  }
  t.match((await api.get('/v1/events?limit=1&limit=2')).body.message, /query\/limit is given twice/)
  for (const wrong of ['after=x', 'limit=-1', 'limit=x', 'type=a&type=b']) {
    t.equal((await api.get(`/v1/events?${wrong}`)).body.error, 'invalid_request', wrong)
  }
  t.equal((await api.get('/v1/events?inboxId=x')).body.error, 'not_found')
  t.strictSame(faults, [])
})
