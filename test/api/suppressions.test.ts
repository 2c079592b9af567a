import t from 'tap'
import { startApi } from '../support/api-app.ts'

const letter = (to: string, more = {}) => ({ to, subject: 's', body: 'b', ...more })

t.test('suppressions', async t => {
  const { api, clock, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body.id
  const made = await api.post('/v1/suppressions', { recipient: 'Gone@Bücher.example' })
  t.match(made, {
    status: 201,
    body: {
      recipient: 'gone@xn--bcher-kva.example',
      reason: 'manual',
      evidence: null,
      messageId: null,
      expiresAt: null,
    },
  })
  for (const body of [
    letter('gone@bücher.example'),
    letter('bob@example.net', { cc: ['GONE@bücher.example'] }),
    letter('bob@example.net', { bcc: ['gone@xn--bcher-kva.example'] }),
  ]) {
    const more = { recipient: 'gone@xn--bcher-kva.example', type: 'manual' }
    t.match(await api.send(inbox, body), { status: 422, body: { error: 'recipient_suppressed', ...more } })
  }
  t.equal((await api.send(inbox, letter('bob@example.net', { replyTo: 'gone@bücher.example' }))).status, 200)

  const expiresAt = new Date(clock.now().getTime() + 60_000).toISOString()
  t.match(
    await api.post('/v1/suppressions', {
      recipient: 'late@example.net',
      reason: 'unsubscribe',
      evidence: 'she said so',
      expiresAt,
    }),
    { status: 201, body: { expiresAt, evidence: 'she said so' } },
  )
  t.equal((await api.send(inbox, letter('late@example.net'))).body.type, 'unsubscribe')
  const list = async (query = '') => {
    const { body } = await api.get(`/v1/suppressions${query}`)
    return [body.total, ...body.data.map((one: { recipient: string }) => one.recipient)]
  }
  t.strictSame(await list(), [2, 'late@example.net', 'gone@xn--bcher-kva.example'])
  t.strictSame(await list('?reason=manual'), [1, 'gone@xn--bcher-kva.example'])
  t.strictSame(await list('?limit=1&offset=1'), [2, 'gone@xn--bcher-kva.example'])
  clock.advance(60_000)
  t.equal((await api.send(inbox, letter('late@example.net'))).status, 200, 'it is over')
  t.strictSame(await list(), [1, 'gone@xn--bcher-kva.example'])

  t.equal((await api.delete('/v1/suppressions?recipient=GONE@bücher.example')).status, 204)
  t.equal((await api.delete('/v1/suppressions?recipient=gone@bücher.example')).status, 404)
  t.equal((await api.send(inbox, letter('gone@bücher.example'))).status, 200)

  const past = new Date(clock.now().getTime() - 1000).toISOString()
  for (const body of [
    {},
    { recipient: 'x' },
    { recipient: 'a@b.example', reason: 'mood' },
    { recipient: 'a@b.example', expiresAt: 'soon' },
    { recipient: 'a@b.example', expiresAt: past },
    { recipient: 'a@b.example', evidence: 'x'.repeat(1001) },
    { recipient: 'a@b.example', id: 'x' },
  ]) {
    t.equal((await api.post('/v1/suppressions', body)).body.error, 'invalid_request', JSON.stringify(body))
  }
  t.equal((await api.delete('/v1/suppressions')).body.error, 'invalid_request')
  t.equal((await api.delete('/v1/suppressions?recipient=x')).body.error, 'invalid_request')
  t.strictSame(await list(), [0])
  t.strictSame(faults, [])
})
