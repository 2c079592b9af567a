import t from 'tap'
import { searchLength } from '../../lib/api/search.ts'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { apiOf } from '../support/api.ts'
import { letter, openBothDoors } from '../support/both-doors.ts'
import { indexed } from '../support/indexed.ts'

t.test('lists search, in an inbox and in all that the key reaches', async t => {
  const { inbox, api, receive, app, baseUrl } = await openBothDoors(t)
  const [ann, bea] = [await inbox('ann'), await inbox('bea')]
  await receive('ann', letter('Invoice', 'please pay'))
  await receive(
    'ann',
    letter('Your verification code', 'Your verification code is 482913', 'no-reply@a.example'),
  )
  await receive('bea', letter('Invoice again', 'thanks'))
  t.equal((await api.get('/v1/messages')).body.total, 3, 'in lists at once')
  t.equal((await api.get('/v1/messages?category=automated')).body.total, 1)
  t.equal((await api.get('/v1/threads?limit=2')).body.data.length, 2)
  t.equal((await api.get('/v1/threads?limit=2&offset=2')).body.data.length, 1)
  t.equal((await api.get('/v1/messages?q=invoice')).body.total, 0, 'and found when the index has followed')
  await indexed(app.store)
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
    t.strictSame(await subjects(`/v1/${kind}?q=${'x'.repeat(searchLength)}`), [])
    t.equal(await subjects(`/v1/${kind}?q=${'x'.repeat(searchLength + 1)}`), 'invalid_request')
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
  const { inbox, api, receive } = await openBothDoors(t)
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
