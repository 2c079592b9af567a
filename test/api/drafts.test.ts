import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { attachmentsBytes, draftsPerInbox } from '../../lib/base/problem.ts'
import { deleteInbox } from '../../lib/core/account/inboxes.ts'
import { purgeDeletedInboxes } from '../../lib/core/account/purge.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { sendScheduledDraft } from '../../lib/core/drafts/send.ts'
import { insertDraft } from '../../lib/store/drafts.ts'
import { listBytes, listedTextLength } from '../../lib/store/listed-messages.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { claim } from '../support/claim.ts'
import { findContradictions } from '../support/consistency.ts'

const letter = { to: 'bob@example.net', subject: 'Hello', body: 'Hi Bob' }
const nothing = '01890000-0000-7000-8000-000000000000'

async function setUp(...parameters: Parameters<typeof startApi>) {
  const server = await startApi(...parameters)
  const { api, app } = server
  const inbox = (await api.post('/v1/inboxes', {})).body.id as string
  return {
    ...server,
    inbox,
    create: async (body: object) => (await api.post(`/v1/inboxes/${inbox}/drafts`, body)).body,
    send: (id: string, key: string) =>
      api.post(`/v1/drafts/${id}/send`, undefined, { 'idempotency-key': key }),
    messages: async () => (await api.get(`/v1/inboxes/${inbox}/messages`)).body,
    files: () =>
      readdirSync(join(app.config.data_dir, 'raw'), { recursive: true, withFileTypes: true }).filter(entry =>
        entry.isFile(),
      ).length,
  }
}

/** Does what the runner of the daemon does: claims what is due and performs it. */
async function sendDue({ app }: Pick<ApiApp, 'app'>): Promise<number> {
  const claimed = await claim(app.queue, 'draft', 10)
  for (const entry of claimed) await sendScheduledDraft(app, entry)
  return claimed.length
}

const inMinutes = ({ clock }: ApiApp, minutes: number) =>
  new Date(clock.now().getTime() + minutes * 60_000).toISOString()

t.test('a draft is made, changed, sent once and deleted', async t => {
  const { api, app, inbox, create, send, messages, files, faults } = await setUp(t)
  const empty = await create({})
  t.match(empty, { to: [], cc: [], subject: null, body: null, attachments: [], status: 'open', sendAt: null })
  const needed = ['body', 'to', 'subject']
  for (const lacking of needed) {
    const refused = await send(empty.id, lacking)
    const paths = needed.slice(needed.indexOf(lacking)).map(path => ({ path: `/${path}` }))
    t.match(refused.body, { error: 'invalid_request', details: paths })
    const change = lacking === 'to' ? { to: ['Bob@Example.net'] } : { [lacking]: 'x' }
    t.equal((await api.patch(`/v1/drafts/${empty.id}`, change)).status, 200)
  }
  const large = Buffer.alloc(400_000, 'y')
  const attachments = [
    { filename: 'small.txt', contentType: 'text/plain', content: 'aGk=' },
    { filename: 'large.bin', content: large.toString('base64') },
  ]
  const change = { ...letter, cc: ['carol@example.net'], bodyHtml: '<b>Hi</b>', attachments }
  const changed = (await api.patch(`/v1/drafts/${empty.id}`, change)).body
  t.match(changed, {
    ...{ to: ['bob@example.net'], cc: ['carol@example.net'], subject: 'Hello', body: 'Hi Bob' },
    attachments: [
      { filename: 'small.txt', contentType: 'text/plain', sizeBytes: 2 },
      { filename: 'large.bin', contentType: 'application/octet-stream', sizeBytes: 400_000 },
    ],
  })
  t.equal(files(), 1)
  t.equal((await api.patch(`/v1/drafts/${empty.id}`, { cc: null, bodyHtml: null })).body.bodyHtml, null)
  const listed = (await api.get(`/v1/inboxes/${inbox}/drafts`)).body
  t.strictSame([listed.total, listed.data[0].cc], [1, []])

  const raced = await Promise.all(['a', 'b', 'b', 'c'].map(key => send(empty.id, key)))
  const won = raced.filter(answer => answer.status === 200)
  t.ok(won.length === 1 || won.length === 2)
  for (const lost of raced.filter(answer => answer.status !== 200)) t.equal(lost.body.error, 'draft_sent')
  const { total, data } = await messages()
  t.strictSame([total, data[0].id, data[0].bodyHtml], [1, won[0]!.body.messageId, ''])
  t.match(data[0].attachments, [{ filename: 'small.txt' }, { filename: 'large.bin', sizeBytes: 400_000 }])
  const download = await api.get(data[0].attachments[1].url)
  t.ok(download.bytes.equals(large))
  t.equal(files(), 1, 'the bytes are in the raw of the message alone')
  const sent = (await api.get(`/v1/drafts/${empty.id}`)).body
  t.match(sent, { status: 'sent', messageId: data[0].id, attachments: [{ sizeBytes: 2 }, {}] })
  t.equal((await api.patch(`/v1/drafts/${empty.id}`, { subject: 'x' })).body.error, 'draft_sent')
  t.equal((await api.delete(`/v1/drafts/${empty.id}`)).status, 204)
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    const body = method === 'PATCH' ? {} : undefined
    t.equal((await api.call(method, `/v1/drafts/${empty.id}`, body)).status, 404)
  }
  t.equal((await messages()).total, 1, 'what was sent stays')
  t.strictSame(await findContradictions(app.config.data_dir), [])
  t.strictSame(faults, [])
})

t.test('a repeat gets the first answer; without a key nothing is sent', async t => {
  const { api, create, send, messages } = await setUp(t)
  const { id } = await create(letter)
  t.equal((await api.post(`/v1/drafts/${id}/send`)).body.error, 'missing_idempotency_key')
  const first = await send(id, 'one')
  t.match(first, { status: 200, body: { status: 'pending' } })
  t.strictSame((await send(id, 'one')).body, first.body)
  t.equal((await send(id, 'two')).body.error, 'draft_sent')
  t.equal((await send((await create(letter)).id, 'one')).body.error, 'idempotency_key_conflict')
  t.equal((await messages()).total, 1)
})

t.test('what a draft may not be', async t => {
  const { api, app, inbox, create, files } = await setUp(t)
  const { id } = await create(letter)
  const past = '2020-01-01T00:00:00Z'
  for (const wrong of [
    ...[{ to: 'x' }, { to: ['a@example.net', 'b'] }, { cc: ['x'] }, { cc: 'a@example.net, b@example.net' }],
    ...[{ sendAt: past }, { sendAt: 'soon' }, { subject: '' }, { body: '' }, { status: 'sent' }, { x: 1 }],
    ...[{ attachments: 5 }, { attachments: [{ filename: 'a', content: '%' }] }, { replyTo: 'x' }],
  ]) {
    const answers = [
      await api.post(`/v1/inboxes/${inbox}/drafts`, wrong),
      await api.patch(`/v1/drafts/${id}`, wrong),
    ]
    for (const { status, body } of answers) {
      t.strictSame([status, body.error], [400, 'invalid_request'], JSON.stringify(wrong))
    }
  }
  t.equal((await api.patch(`/v1/drafts/${id}`, { threadId: nothing })).body.error, 'not_found')
  const content = Buffer.alloc(attachmentsBytes + 1).toString('base64')
  const tooLarge = { attachments: [{ filename: 'a', content }] }
  t.equal((await api.patch(`/v1/drafts/${id}`, tooLarge)).body.error, 'attachments_too_large')
  const row = await app.store.read.selectFrom('draft').selectAll().executeTakeFirstOrThrow()
  await app.store.write(async db => {
    for (let made = 1; made < draftsPerInbox; made++) {
      await insertDraft(db, { ...row, id: app.ids.next() })
    }
  })
  const attachments = [{ filename: 'a', content: Buffer.alloc(400_000).toString('base64') }]
  t.equal((await create({ attachments })).error, 'draft_limit_reached')
  t.equal(files(), 0, 'what was refused leaves no bytes')
})

t.test('a scheduled draft is sent at its time, exactly once', async t => {
  const server = await setUp(t)
  const { api, clock, create, messages, send } = server
  const scheduled = await create({ ...letter, sendAt: inMinutes(server, 60) })
  t.equal(scheduled.status, 'scheduled')
  const moved = await create({ ...letter, sendAt: inMinutes(server, 60) })
  await api.patch(`/v1/drafts/${moved.id}`, { sendAt: inMinutes(server, 120) })
  const dropped = await create({ ...letter, sendAt: inMinutes(server, 60) })
  const opened = (await api.patch(`/v1/drafts/${dropped.id}`, { sendAt: null })).body
  t.match(opened, { status: 'open', sendAt: null })
  const early = await create({ ...letter, sendAt: inMinutes(server, 60) })
  t.equal((await send(early.id, 'early')).status, 200)
  await api.delete(`/v1/drafts/${(await create({ ...letter, sendAt: inMinutes(server, 60) })).id}`)
  t.equal(await sendDue(server), 0)
  t.equal((await messages()).total, 1)

  clock.advance(61 * 60_000)
  t.equal(await sendDue(server), 1)
  const sent = (await api.get(`/v1/drafts/${scheduled.id}`)).body
  const { total, data } = await messages()
  t.strictSame([total, data[0].id, sent.status], [2, sent.messageId, 'sent'])
  t.equal(await sendDue(server), 0)
  clock.advance(60 * 60_000)
  t.equal(await sendDue(server), 1)
  t.equal((await api.get(`/v1/drafts/${moved.id}`)).body.status, 'sent')
  t.equal((await messages()).total, 3)
})

t.test('killed before the write it is sent again, and changed meanwhile it is not', async t => {
  const server = await setUp(t)
  const { api, app, clock, create, messages } = server
  const { id } = await create({ ...letter, sendAt: inMinutes(server, 1) })
  const other = await create({ ...letter, sendAt: inMinutes(server, 1) })
  clock.advance(61_000)
  const [lost] = await claim(app.queue, 'draft')
  const [changed] = await claim(app.queue, 'draft')
  await api.patch(`/v1/drafts/${changed!.subjectId}`, { sendAt: inMinutes(server, 1) })
  await sendScheduledDraft(app, changed!)
  t.equal((await messages()).total, 0)

  await app.nodes.join()
  await app.queue.recover()
  const [again] = await claim(app.queue, 'draft')
  t.equal(again?.subjectId, lost?.subjectId)
  await sendScheduledDraft(app, lost!)
  t.equal((await messages()).total, 0, 'the lease is another one now')
  await Promise.all([sendScheduledDraft(app, again!), sendScheduledDraft(app, again!)])
  t.equal((await messages()).total, 1)
  clock.advance(61_000)
  t.equal(await sendDue(server), 1)
  t.strictSame(
    [(await api.get(`/v1/drafts/${id}`)).body.status, (await api.get(`/v1/drafts/${other.id}`)).body.status],
    ['sent', 'sent'],
  )
  t.strictSame(server.faults, [])
})

t.test('what is refused at its time stays open and says why', async t => {
  const server = await setUp(t)
  const { api, clock, create, messages } = server
  const { id } = await create({ ...letter, sendAt: inMinutes(server, 1) })
  await api.post('/v1/suppressions', { recipient: letter.to })
  clock.advance(61_000)
  t.equal(await sendDue(server), 1)
  t.equal((await messages()).total, 0)
  const refused = (await api.get(`/v1/drafts/${id}`)).body
  t.match(refused, {
    ...{ status: 'open', sendAt: null, messageId: null },
    lastError: { error: 'recipient_suppressed', message: /bob@example\.net/, at: /^2/ },
  })
  await api.delete(`/v1/suppressions?recipient=${letter.to}`)
  const again = (await api.patch(`/v1/drafts/${id}`, { sendAt: inMinutes(server, 1) })).body
  t.match(again, { status: 'scheduled', lastError: null })
  clock.advance(61_000)
  t.equal(await sendDue(server), 1)
  t.equal((await messages()).total, 1)
})

t.test('a deleted inbox takes its drafts along', async t => {
  const server = await setUp(t)
  const { api, app, clock, create, inbox, files } = server
  const attachments = [{ filename: 'a', content: Buffer.alloc(400_000).toString('base64') }]
  const { id } = await create({ ...letter, attachments, sendAt: inMinutes(server, 1) })
  await create(letter)
  await deleteInbox(app, operator, inbox)
  t.equal((await api.get(`/v1/drafts/${id}`)).status, 404)
  clock.advance(61_000)
  t.equal(await sendDue(server), 1, 'nothing is sent from it')
  while ((await purgeDeletedInboxes(app)) > 0);
  t.strictSame(await app.store.read.selectFrom('draft').selectAll().execute(), [])
  t.equal(files(), 0)
  t.strictSame(server.faults, [])
})

t.test('a list of long drafts is bounded, and says which it cut', async t => {
  const { api, inbox, create } = await setUp(t)
  const long = { body: 'b'.repeat(90_000), bodyHtml: `<p>${'h'.repeat(490_000)}` }
  const ids: string[] = []
  for (let count = 0; count < 6; count++) ids.push((await create({ ...letter, ...long })).id)
  const { data, total } = (await api.get(`/v1/inboxes/${inbox}/drafts`)).body
  t.equal(total, 6)
  t.strictSame(
    data.map((one: { id: string }) => one.id),
    ids.toReversed(),
  )
  const whole = data.filter((one: object) => !('bodyTruncated' in one))
  t.equal(whole.length, Math.floor(listBytes / 580_003))
  for (const one of whole) t.match(one, long)
  for (const one of data.slice(whole.length)) {
    const cut = { bodyTruncated: true, body: 'b'.repeat(listedTextLength), bodyHtml: null }
    t.match(one, { ...cut, subject: letter.subject, to: ['bob@example.net'] })
    t.equal(one.body.length, listedTextLength)
  }
  t.match((await api.get(`/v1/drafts/${ids[0]}`)).body, long, 'the draft itself has all')
})
