import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { waitsPerKey } from '../../lib/core/mailbox/waiters.ts'
import { apiOf } from '../support/api.ts'
import { letter, openBothDoors } from '../support/both-doors.ts'
import { until } from '../support/until.ts'

t.test('waiting for mail', async t => {
  const { inbox, api, receive, app, baseUrl, httpPort, token, http } = await openBothDoors(t)
  const id = await inbox('ann')
  const path = `/v1/inboxes/${id}/messages/wait`
  const waiting = (count: number) =>
    until(`${count} waiters`, () => app.waiters.count() === count || undefined)

  await t.test('answers at once when it comes, and with nothing when the time is over', async t => {
    await receive('ann', letter('before'))
    const inVain = api.get(`${path}?timeout=1`)
    await waiting(1)
    t.strictSame((await inVain).body, { data: [] })
    await waiting(0)
    t.strictSame((await api.get(`${path}?timeout=0`)).body, { data: [] })
    const answer = api.get(`${path}?timeout=60`)
    await waiting(1)
    await receive('ann', letter('now'))
    t.strictSame(
      (await answer).body.data.map((one: { subject: string }) => one.subject),
      ['now'],
    )
    await waiting(0)
  })

  await t.test('for what is asked alone; with `after` what is there already', async t => {
    const answer = api.get(`${path}?timeout=60&from=carol&subject=code`)
    await waiting(1)
    await receive('ann', letter('code'))
    await receive('ann', letter('other', '', 'carol@example.net'))
    await receive('ann', letter('your code', '', 'carol@example.net'))
    t.strictSame(
      (await answer).body.data.map((one: { subject: string }) => one.subject),
      ['your code'],
    )
    const there = (await api.get(`${path}?after=2020-01-01&subject=before`)).body.data
    t.match(there, [{ subject: 'before' }])
    const last = (await api.get(`/v1/inboxes/${id}/messages?limit=1`)).body.data[0].createdAt
    t.strictSame((await api.get(`${path}?timeout=0&after=${last}`)).body.data, [], 'not the last one again')
  })

  await t.test('bounds', async t => {
    for (const wrong of ['timeout=301', 'timeout=-1', 'timeout=x', 'after=x']) {
      t.equal((await api.get(`${path}?${wrong}`)).body.error, 'invalid_request', wrong)
    }
  })

  await t.test('so many with a key', async t => {
    const { token } = await createKey(app, operator, { account: true }, null)
    const client = apiOf(baseUrl, token)
    const gone = new AbortController()
    const wait = () =>
      fetch(`${baseUrl}${path}?timeout=300`, {
        headers: { authorization: `Bearer ${token}` },
        signal: gone.signal,
      }).catch(() => undefined)
    const many = Array.from({ length: waitsPerKey }, wait)
    await waiting(waitsPerKey)
    const refused = await client.get(`${path}?timeout=1`)
    t.strictSame([refused.status, refused.body.error], [429, 'too_many_streams'])
    t.equal((await api.get(`${path}?timeout=0`)).status, 200, 'another key has places of its own')
    gone.abort()
    await Promise.all(many)
    await waiting(0)
    t.equal((await client.get(`${path}?timeout=0`)).status, 200, 'the places are free again')
  })

  await t.test('a key that is revoked gets nothing any more', async t => {
    const revoked = await createKey(app, operator, { inbox: id }, null)
    const stays = await createKey(app, operator, { inbox: id }, null)
    const many = Array.from({ length: 80 }, () => apiOf(baseUrl, revoked.token).get(`${path}?timeout=300`))
    const other = apiOf(baseUrl, stays.token).get(`${path}?timeout=300`)
    await waiting(81)
    await api.delete(`/v1/inboxes/${id}/api-keys/${revoked.id}`)
    for (const answer of await Promise.all(many)) t.equal(answer.body.error, 'unauthorized')
    await waiting(1)
    t.equal((await apiOf(baseUrl, 'mbx_guessed').get('/v1/me/x/y')).status, 404)
    t.equal(
      (await apiOf(baseUrl, 'mbx_guessed').get('/v1/pods')).status,
      401,
      'nobody was counted as guessing',
    )
    await receive('ann', letter('to who stays'))
    t.equal((await other).body.data[0].subject, 'to who stays')
  })

  await t.test('a client that goes leaves no waiter', async t => {
    const socket = connect(httpPort, '127.0.0.1')
    await once(socket, 'connect')
    socket.write(`GET ${path}?timeout=300 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
    await waiting(1)
    socket.destroy()
    await waiting(0)
    t.equal(app.waiters.count(), 0)
  })

  await t.test('hundreds at once; what is left is answered when the server stops', async t => {
    const bea = await inbox('bea')
    const keys = await Promise.all(
      [1, 2, 3].map(() => createKey(app, operator, { account: true }, null).then(key => key.token)),
    )
    const many = Array.from({ length: 300 }, (_, index) =>
      apiOf(baseUrl, keys[index % 3]).get(`${path}?timeout=120`),
    )
    const other = api.get(`/v1/inboxes/${bea}/messages/wait?timeout=120`)
    await waiting(301)
    await receive('ann', letter('to all'))
    const answers = await Promise.all(many)
    t.ok(answers.every(answer => answer.body.data.length === 1))
    await waiting(1)
    await http.stop()
    t.equal((await other).body.error, 'unavailable')
    t.equal(app.waiters.count(), 0)
  })
})
