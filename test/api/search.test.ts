import { once } from 'node:events'
import { connect } from 'node:net'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { limits } from '../../lib/base/limits.ts'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { createHttpDoor } from '../../lib/http/server.ts'
import { apiOf } from '../support/api.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

/** Both doors over one database: mail comes in by SMTP and is found by the API. */
async function setUp(t: Test) {
  const mail = await openDoor(t)
  const http = createHttpDoor(mail.app)
  const { port } = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.stop())
  const baseUrl = `http://127.0.0.1:${port}`
  const { token } = await createKey(mail.app, operator, { account: true }, null)
  const dialog = await greetedDialog(mail.port)
  t.teardown(() => dialog.end())
  const receive = async (name: string, message: string) => {
    await dialog.envelope('bob@example.net', `${name}@ours.example`)
    const { code, text } = await dialog.data(message.replaceAll('\n', '\r\n'))
    if (code !== 250) throw new Error(text)
  }
  return { ...mail, http, baseUrl, httpPort: port, token, api: apiOf(baseUrl, token), receive }
}

const letter = (subject: string, body = 'Hello', from = 'Bob Ross <bob@example.net>') =>
  `From: ${from}\nTo: ann@ours.example\nSubject: ${subject}\n\n${body}\n`

t.test('lists search, in an inbox and in all that the key reaches', async t => {
  const { inbox, api, receive, app, baseUrl } = await setUp(t)
  const [ann, bea] = [await inbox('ann'), await inbox('bea')]
  await receive('ann', letter('Invoice', 'please pay'))
  await receive(
    'ann',
    letter('Your verification code', 'Your verification code is 482913', 'no-reply@a.example'),
  )
  await receive('bea', letter('Invoice again', 'thanks'))
  const subjects = async (path: string, client = api) => {
    const { status, body } = await client.get(path)
    if (status !== 200) return body.error
    if (body.total !== body.data.length) throw new Error(`${path}: total ${body.total}`)
    return body.data.map((one: { subject: string }) => one.subject)
  }
  for (const kind of ['messages', 'threads']) {
    const own = `/v1/inboxes/${ann}/${kind}`
    t.strictSame(await subjects(`${own}?q=invoice`), ['Invoice'])
    t.strictSame(await subjects(`${own}?q=invoice&from=bob%20ross`), ['Invoice'])
    t.strictSame(await subjects(`${own}?from=a.example&category=automated`), ['Your verification code'])
    t.strictSame(await subjects(`${own}?hasAttachment=true`), [])
    t.strictSame(await subjects(`${own}?after=2020-01-01&before=2100-01-01T00:00:00Z&q=-code`), ['Invoice'])
    t.strictSame(await subjects(`/v1/${kind}?q=invoice`), ['Invoice again', 'Invoice'])
    t.strictSame(await subjects(`/v1/${kind}`), ['Invoice again', 'Your verification code', 'Invoice'])
    for (const wrong of [
      'after=yesterday',
      'before=2026-13-01',
      'hasAttachment=1',
      'category=x',
      'q=a&q=b',
    ]) {
      t.equal(await subjects(`/v1/${kind}?${wrong}`), 'invalid_request', wrong)
      t.equal(await subjects(`${own}?${wrong}`), 'invalid_request', wrong)
    }
    t.strictSame(await subjects(`/v1/${kind}?q=${'x'.repeat(limits.searchLength)}`), [])
    t.equal(await subjects(`/v1/${kind}?q=${'x'.repeat(limits.searchLength + 1)}`), 'invalid_request')
    t.equal(await subjects(`/v1/${kind}?q=%00`), 'invalid_request')
    t.strictSame(await subjects(`/v1/${kind}?q=${encodeURIComponent('") OR mark:all NOT ("')}`), [])
    const { token } = await createKey(app, operator, { inbox: bea }, null)
    t.strictSame(await subjects(`/v1/${kind}?q=invoice`, apiOf(baseUrl, token)), ['Invoice again'])
    t.strictSame(await subjects(`/v1/${kind}`, apiOf(baseUrl, token)), ['Invoice again'])
    const pod = (await api.post('/v1/pods', {})).body.id
    const podKey = await createKey(app, operator, { pod }, null)
    t.strictSame(await subjects(`/v1/${kind}?q=invoice`, apiOf(baseUrl, podKey.token)), [])
  }
  t.strictSame(await subjects('/v1/messages?direction=outbound'), [])
  t.strictSame(await subjects('/v1/threads?is_read=true'), [])
  t.equal((await api.get('/v1/threads?is_read=false')).body.total, 3)
  await api.delete(`/v1/inboxes/${ann}`)
  t.strictSame(await subjects('/v1/messages'), ['Invoice again'], 'a deleted inbox is gone at once')
})

t.test('what is found in a message stands in it', async t => {
  const { inbox, api, receive } = await setUp(t)
  const id = await inbox('ann')
  await receive(
    'ann',
    letter(
      'Re: Code',
      'Here: https://a.example/x?y=1.\n\nOn 3 May 2026 at 10:00, Ann <ann@ours.example> wrote:\n> old',
    ),
  )
  await receive('ann', letter('482913 is your login code', 'It ends soon.'))
  const { data } = (await api.get(`/v1/inboxes/${id}/messages`)).body
  t.match(data, [
    { otp: '482913', replyText: /^It ends soon\.\s*$/, links: [] },
    {
      otp: null,
      replyText: 'Here: https://a.example/x?y=1.',
      links: [{ url: 'https://a.example/x?y=1', text: 'https://a.example/x?y=1' }],
    },
  ])
})

t.test('waiting for mail', async t => {
  const { inbox, api, receive, app, httpPort, token, http } = await setUp(t)
  const id = await inbox('ann')
  const path = `/v1/inboxes/${id}/messages/wait`
  const waiting = (count: number) =>
    until(`${count} waiters`, () => app.waiters.count() === count || undefined)

  await t.test('answers at once when it comes, and with nothing when the time is over', async t => {
    await receive('ann', letter('before'))
    const startedMs = app.clock.monotonicMs()
    t.strictSame((await api.get(`${path}?timeout=1`)).body, { data: [] })
    // By the clock that it waits by, so whatever else the machine does it is not less.
    t.ok(app.clock.monotonicMs() - startedMs >= 1000)
    t.strictSame((await api.get(`${path}?timeout=0`)).body, { data: [] })
    // It does not look by itself now, so only to be told makes it answer.
    const { watch } = app.waiters
    mock.method(app.waiters, 'watch', (inboxId: string, signal: AbortSignal) => {
      const own = watch(inboxId, signal)
      return { ...own, next: () => own.next(limits.waitSecondsMax * 1000) }
    })
    const answer = api.get(`${path}?timeout=60`)
    await waiting(1)
    mock.reset()
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
    const many = Array.from({ length: 300 }, () => api.get(`${path}?timeout=120`))
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
