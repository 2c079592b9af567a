import t from 'tap'
import {
  feedbackKept,
  feedbackPerKey,
  feedbackPerPod,
  listFeedback,
} from '../../lib/core/account/feedback.ts'
import { feedbackLength } from '../../lib/model/feedback.ts'
import { insertFeedback } from '../../lib/store/feedback.ts'
import { startApi } from '../support/api-app.ts'

t.test('POST /v1/feedback keeps a note for the operator', async t => {
  const server = await startApi(t)
  const { api, app, apiWith } = server
  const context = { operation: 'send', tried: [1, 2] }
  const { status, body } = await api.post('/v1/feedback', { type: 'bug', message: 'It broke.', context })
  t.equal(status, 201)
  t.match(body, { id: String, type: 'bug', message: 'It broke.', context, podId: null, inboxId: null })
  const { id } = (await api.post('/v1/inboxes', {})).body
  const key = apiWith((await api.post(`/v1/inboxes/${id}/api-keys`, {})).body.token)
  const hostile = { type: 'friction', message: 'a\u001b[2Jb\u202e\nc\td', context: 'text\u009b' }
  t.match((await key.post('/v1/feedback', hostile)).body, {
    message: 'a[2Jb\nc\td',
    context: 'text',
    inboxId: id,
  })
  const { rows, total } = await listFeedback(app, { limit: 1, offset: 0 })
  t.match([rows[0]!.type, rows.length, total], ['friction', 1, 2])
  for (const wrong of [
    {},
    { type: 'praise', message: 'm' },
    { type: 'bug', message: '\u202e ' },
    { type: 'bug', message: '' },
    { type: 'bug', message: 'x'.repeat(feedbackLength + 1) },
    { type: 'bug', message: 'm', context: 'x'.repeat(feedbackLength) },
    { type: 'bug', message: 'm', context: 1 },
    { type: 'bug', message: 'm', more: 1 },
  ]) {
    t.equal((await api.post('/v1/feedback', wrong)).status, 400, JSON.stringify(wrong).slice(0, 60))
  }
  t.strictSame(server.faults, [])
})

t.test('it is bounded by key, by pod and in all', async t => {
  const server = await startApi(t)
  const { api, app, apiWith, clock } = server
  const pod = (await api.post('/v1/pods', {})).body.id
  const note = { type: 'bug', message: 'm' }
  const keys = [apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)]
  const give = async () => (await keys.at(-1)!.post('/v1/feedback', note)).status
  for (let count = 0; count < feedbackPerKey; count++) t.equal(await give(), 201)
  const { status, headers, body } = await keys[0]!.post('/v1/feedback', note)
  t.strictSame([status, body.error], [429, 'rate_limit_exceeded'])
  t.ok(Number(headers.get('retry-after')) > 0)
  let taken: number = feedbackPerKey
  while (taken < feedbackPerPod) {
    keys.push(apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token))
    for (let count = 0; count < feedbackPerKey; count++, taken++) await give()
  }
  keys.push(apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token))
  t.equal(await give(), 429, 'more keys are no more notes')
  t.equal((await api.post('/v1/feedback', note)).status, 201, 'and take nothing from others')
  clock.advance(86_400_000)
  t.equal(await give(), 201, 'until the next day')

  await app.store.write(async db => {
    const row = {
      type: 'bug',
      message: 'm',
      context: null,
      podId: null,
      inboxId: null,
      keyId: null,
      createdAt: '',
    }
    for (let count = 0; count < feedbackKept; count++)
      await insertFeedback(db, { id: app.ids.next(), ...row })
  })
  const last = (await api.post('/v1/feedback', note)).body.id
  const { rows, total } = await listFeedback(app, { limit: 1, offset: 0 })
  t.strictSame([rows[0]!.id, total], [last, feedbackKept], 'the oldest go')
})
