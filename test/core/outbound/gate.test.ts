import t from 'tap'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createKey } from '../../../lib/core/account/keys.ts'
import { resumeInbox, suspendInbox } from '../../../lib/core/account/suspension.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { sendScheduledDraft } from '../../../lib/core/drafts/send.ts'
import { startApi } from '../../support/api-app.ts'
import { claim } from '../../support/claim.ts'
import { addVerifiedDomain } from '../../support/verified-domain.ts'

const letter = { to: 'bob@theirs.example', subject: 's', body: 'b' }

t.test('a suspended inbox sends nothing until it is resumed', async t => {
  const { app, api, clock } = await startApi(t)
  const { id } = await createInbox(app, operator, { mailboxName: 'ann' })
  t.match(await suspendInbox(app, 'ann@ours.example', 'too\nmany complaints'), {
    id,
    suspendedAt: String,
    suspendedReason: 'too many complaints',
  })
  const refused = { status: 403, body: { error: 'inbox_suspended', message: /until it is resumed/ } }
  t.match(await api.send(id, letter), refused)
  const { body: draft } = await api.post(`/v1/inboxes/${id}/drafts`, letter)
  t.match(await api.post(`/v1/drafts/${draft.id}/send`, undefined, { 'Idempotency-Key': 'd' }), refused)

  const sendAt = new Date(clock.now().getTime() + 60_000).toISOString()
  const { body: later } = await api.post(`/v1/inboxes/${id}/drafts`, { ...letter, sendAt })
  clock.advance(61_000)
  const [entry] = await claim(app.queue, 'draft')
  await sendScheduledDraft(app, entry!)
  const { status, lastError } = (await api.get(`/v1/drafts/${later.id}`)).body
  t.match([status, lastError], ['open', { error: 'inbox_suspended' }])

  await suspendInbox(app, id, null)
  await resumeInbox(app, id)
  t.match(await resumeInbox(app, id), { suspendedAt: null, suspendedReason: null })
  t.equal((await api.send(id, letter)).status, 200)
  const { body } = await api.get(`/v1/events?inboxId=${id}`)
  t.strictSame(
    body.data.map((event: { event: string; data: unknown }) => [event.event, event.data]),
    [
      ['inbox.suspended', { reason: 'too many complaints' }],
      [
        'draft.blocked',
        { draft_id: later.id, error: 'inbox_suspended', message: lastError.message, was: null, now: null },
      ],
      ['inbox.reactivated', { reason: null }],
    ],
  )
  await t.rejects(suspendInbox(app, 'nobody@ours.example', null), { code: 'not_found' })
})

t.test('a domain of its own sends while it is verified, the default one always', async t => {
  const { app, api } = await startApi(t)
  await addVerifiedDomain(app, 'acme.example')
  const { id } = await createInbox(app, operator, { mailboxName: 'ann', domain: 'acme.example' })
  const ours = await createInbox(app, operator, { mailboxName: 'ann' })
  t.equal((await api.send(id, letter)).status, 200)
  for (const [status, code, error] of [
    ['failed', 422, 'invalid_domain'],
    ['pending', 422, 'invalid_domain'],
    ['under_review', 403, 'domain_under_review'],
  ] as const) {
    await app.store.write(async db => {
      await db.updateTable('domain').set({ status }).execute()
    })
    t.match(await api.send(id, letter), { status: code, body: { error } }, status)
    t.equal((await api.send(ours.id, letter)).status, 200, `the default one while ${status}`)
  }
})

t.test('the inbox of postmaster writes for keys of the account alone', async t => {
  const { app, api, apiWith, faults } = await startApi(t)
  const { body } = await api.get('/v1/inboxes?system=true')
  const { id, podId, address } = body.data.find((one: { address: string }) =>
    /^postmaster@/.test(one.address),
  )
  const other = (await api.post('/v1/inboxes', { podId })).body
  const { messageId } = (await api.send(id, letter)).body
  const draft = (await api.post(`/v1/inboxes/${id}/drafts`, letter)).body.id
  t.ok(messageId)
  const [ofPod, ofInbox] = [
    await createKey(app, operator, { pod: podId }, null),
    await createKey(app, operator, { inbox: id }, null),
  ]
  let keys = 0
  for (const { token } of [ofPod, ofInbox]) {
    const mine = apiWith(token)
    for (const [path, asked] of [
      [`/v1/inboxes/${id}/send`, letter],
      [`/v1/inboxes/${address}/send`, letter],
      [`/v1/messages/${messageId}/reply`, { body: 'b' }],
      [`/v1/messages/${messageId}/reply-all`, { body: 'b' }],
      [`/v1/messages/${messageId}/forward`, { to: letter.to }],
      [`/v1/drafts/${draft}/send`, undefined],
    ] as const) {
      const { status, body } = await mine.call('POST', path, asked, { 'idempotency-key': `k${keys++}` })
      t.match([status, body], [403, { error: 'forbidden' }], path)
    }
  }
  t.equal((await apiWith(ofPod.token).send(other.id, letter)).status, 200, 'from what is its own')
  t.equal((await api.send(id, letter)).status, 200)
  t.strictSame(faults, [])
})
