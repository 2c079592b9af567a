import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { attachmentsBytes, idempotencyHours, Problem } from '../../lib/base/problem.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { once } from '../../lib/core/app/idempotency.ts'
import { listQueue } from '../../lib/core/outbound/operators-hand.ts'
import { readHeader } from '../../lib/mail/header/header.ts'
import { storedBodyLength } from '../../lib/mail/text/body-text.ts'
import { listBytes, listedTextLength } from '../../lib/store/listed-messages.ts'
import type { Api } from '../support/api.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import { insertMessageRow, insertThreadRow } from '../support/rows.ts'

const nothing = '01890000-0000-7000-8000-000000000000'
const letter = { to: 'bob@example.net', subject: 'Hello', body: 'Hi Bob' }

interface Sender {
  readonly api: Api
  readonly id: string
  readonly address: string
  /** How many messages it has sent; and that the queue and the threads say the same. */
  sent(): Promise<number>
}

async function makeSender({ api, app }: ApiApp, podId?: string): Promise<Sender> {
  const { id, address } = (await api.post('/v1/inboxes', podId === undefined ? {} : { podId })).body
  return {
    api,
    id,
    address,
    async sent() {
      const { data, total } = (await api.get(`/v1/inboxes/${id}/messages?limit=100`)).body
      const threads = (await api.get(`/v1/inboxes/${id}/threads?limit=100`)).body
      const inThreads = threads.data.reduce(
        (sum: number, one: { messageCount: number }) => sum + one.messageCount,
        0,
      )
      const queued = new Set((await listQueue(app, 1000)).map(line => line.messageId))
      const inQueue = data.filter((one: { id: string }) => queued.has(one.id)).length
      if (inThreads !== total || inQueue !== total) throw new Error(`${total}, ${inThreads}, ${inQueue}`)
      return total
    },
  }
}

t.test('a repeat is done again where the first could not be, and else gets the first answer', async t => {
  const { app } = await startApi(t)
  const inbox = { id: nothing, podId: nothing }
  for (const [code, isFinal] of [
    ['not_found', true],
    ['rate_limit_exceeded', false],
    ['unavailable', false],
  ] as const) {
    let tried = 0
    const attempt = () =>
      once(app, { caller: operator, inbox, key: code, request: {} }, async ({ remember }) => {
        if (++tried === 1) throw new Problem(code)
        await app.store.write(db => remember(db, tried))
        return tried
      })
    await t.rejects(attempt(), { code })
    if (isFinal) await t.rejects(attempt(), { code })
    else t.equal(await attempt(), 2, code)
    t.equal(tried, isFinal ? 1 : 2, code)
  }
})

t.test('Idempotency-Key', async t => {
  let server = await startApi(t, { breaks: ['pods'] })
  const { api } = server
  const inbox = await makeSender(server)
  const path = `/v1/inboxes/${inbox.id}/send`

  await t.test('is required, and bounded', async t => {
    for (const headers of [{}, { 'idempotency-key': '' }]) {
      const { status, body } = await api.post(path, letter, headers)
      t.strictSame([status, body.error], [400, 'missing_idempotency_key'])
    }
    t.equal((await api.send(inbox.id, letter, 'x'.repeat(256))).body.error, 'invalid_request')
    t.equal(await inbox.sent(), 0)
    t.equal((await api.send(inbox.id, letter, 'x'.repeat(255))).status, 200)
    t.equal(await inbox.sent(), 1)
  })

  await t.test('a repeat gets the same answer and sends nothing, 50 at once and after a restart', async t => {
    const key = randomUUID()
    const before = await inbox.sent()
    const raced = await Promise.all(Array.from({ length: 50 }, () => api.send(inbox.id, letter, key)))
    const [first] = raced
    t.match(first, {
      status: 200,
      body: { status: 'pending', providerMessageId: /^<[^<>@]+@ours\.example>$/ },
    })
    for (const again of raced) t.strictSame(again.body, first!.body)
    const reordered = { body: letter.body, subject: letter.subject, to: letter.to }
    t.strictSame((await api.send(inbox.id.toUpperCase(), reordered, key)).body, first!.body)
    t.equal(await inbox.sent(), before + 1)

    server = await server.restart()
    const after = await server.api.send(inbox.id, letter, key)
    t.strictSame([after.status, after.body], [200, first!.body])
    t.equal((await server.api.get(`/v1/inboxes/${inbox.id}/messages`)).body.total, before + 1)

    const conflict = await server.api.send(inbox.id, { ...letter, body: 'Other' }, key)
    t.strictSame([conflict.status, conflict.body.error], [409, 'idempotency_key_conflict'])
    t.strictSame((await server.api.send(inbox.id, letter, key)).body, first!.body, 'nor does that undo it')

    server.clock.advance(idempotencyHours * 3_600_000)
    const other = await server.api.send(inbox.id, { ...letter, body: 'Other' }, key)
    t.equal(other.status, 200, 'a day later the key is free')
    t.not(other.body.messageId, first!.body.messageId)
  })

  await t.test('a race of two requests under one key: one is sent', async t => {
    const key = randomUUID()
    const { api } = server
    const raced = await Promise.all(
      Array.from({ length: 20 }, (_, i) => api.send(inbox.id, { ...letter, body: `${i % 2}` }, key)),
    )
    t.strictSame(raced.map(answer => answer.status).sort(), [...Array(10).fill(200), ...Array(10).fill(409)])
    t.equal(new Set(raced.filter(one => one.status === 200).map(one => one.body.messageId)).size, 1)
  })

  await t.test('refusals are remembered', async t => {
    const { api } = server
    const { id, address } = await makeSender(server)
    for (const [body, code] of [
      [{ ...letter, to: address }, 'recipient_is_sender'],
      [{ ...letter, threadId: nothing }, 'not_found'],
    ] as const) {
      const key = randomUUID()
      const first = await api.send(id, body, key)
      t.equal(first.body.error, code)
      const again = await api.send(id, body, key)
      t.strictSame([again.status, again.body], [first.status, first.body])
      t.equal((await api.send(id, letter, key)).body.error, 'idempotency_key_conflict', code)
    }
  })

  await t.test('a request that is malformed, in whatever way, does not use its key up', async t => {
    const { api } = server
    const sender = await makeSender(server)
    for (const wrong of [
      { ...letter, to: 'no address' },
      { ...letter, to: 1 },
      { ...letter, cc: ['no address'] },
      { ...letter, attachments: [{ filename: 'a', content: '*' }] },
      { ...letter, unknown: true },
      { to: letter.to, body: 'no subject' },
    ]) {
      const key = randomUUID()
      t.equal((await api.send(sender.id, wrong, key)).status, 400)
      t.equal((await api.send(sender.id, letter, key)).status, 200, JSON.stringify(wrong))
    }
  })

  await t.test('a record belongs to the inbox and the key, whatever credential sends', async t => {
    const { api, apiWith } = server
    const { id: pod } = (await api.post('/v1/pods', {})).body
    const [one, other] = [await makeSender(server, pod), await makeSender(server, pod)]
    const podApi = apiWith((await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token)
    const own = apiWith((await api.post(`/v1/inboxes/${one.id}/api-keys`, {})).body.token)
    const others = apiWith((await api.post(`/v1/inboxes/${other.id}/api-keys`, {})).body.token)
    const key = randomUUID()
    const answers = []
    for (const client of [own, podApi, api]) answers.push((await client.send(one.id, letter, key)).body)
    t.ok(answers[0].messageId)
    t.strictSame(answers[1], answers[0])
    t.strictSame(answers[2], answers[0])
    t.equal(await one.sent(), 1)
    for (const client of [podApi, api]) {
      const there = await client.send(other.id, letter, key)
      t.strictSame([there.status, there.body.error], [409, 'idempotency_key_conflict'])
    }
    t.equal((await others.send(other.id, letter, key)).status, 200, 'an inbox key knows of no other inbox')

    // The inbox of postmaster sends for account keys alone; what another key is told of that is not its answer.
    const system = await makeSender(server, pod)
    await server.app.store.write(db =>
      db.updateTable('inbox').set({ isSystem: 1 }).where('id', '=', system.id).execute(),
    )
    t.equal((await podApi.send(system.id, letter, 'system')).body.error, 'forbidden')
    t.equal((await api.send(system.id, letter, 'system')).status, 200)
  })

  await t.test("pods do not share keys, and no key opens another inbox's answer", async t => {
    const { api, apiWith } = server
    const tenants = []
    for (let i = 0; i < 2; i++) {
      const { id: pod } = (await api.post('/v1/pods', {})).body
      const { token } = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body
      tenants.push({ pod, api: apiWith(token), inbox: await makeSender(server, pod) })
    }
    const [one, two] = tenants as [(typeof tenants)[0], (typeof tenants)[0]]
    const first = await one.api.send(one.inbox.id, letter, 'same')
    const second = await two.api.send(two.inbox.id, { ...letter, body: 'Another' }, 'same')
    t.strictSame([first.status, second.status], [200, 200])

    const sibling = await makeSender(server, one.pod)
    const { token } = (await api.post(`/v1/inboxes/${sibling.id}/api-keys`, {})).body
    const peek = await apiWith(token).send(one.inbox.id, letter, 'same')
    t.strictSame([peek.status, peek.body.error], [404, 'not_found'])
    t.equal(await one.inbox.sent(), 1)
  })
  t.strictSame(server.faults, [])
})

t.test('without the requirement', async t => {
  const server = await startApi(t, { toml: '[idempotency]\nrequired = false' })
  const inbox = await makeSender(server)
  const path = `/v1/inboxes/${inbox.id}/send`
  const two = [await server.api.post(path, letter), await server.api.post(path, letter)]
  t.strictSame(
    two.map(answer => answer.status),
    [200, 200],
  )
  t.equal(await inbox.sent(), 2)
  const keyed = [await server.api.send(inbox.id, letter, 'k'), await server.api.send(inbox.id, letter, 'k')]
  t.strictSame(keyed[0]!.body, keyed[1]!.body)
})

t.test('what is sent', async t => {
  const server = await startApi(t)
  const { api } = server
  const inbox = await makeSender(server)
  const send = (more: object) => api.send(inbox.id, { ...letter, ...more })
  const raw = async (id: string) => (await api.get(`/v1/messages/${id}/raw`)).bytes.toString('latin1')
  const refuse = async (more: object, code: string, path?: string) => {
    const { status, body } = await send(more)
    t.equal(body.error, code, `${JSON.stringify(more).slice(0, 80)} (${status})`)
    if (path !== undefined) t.equal(body.details?.[0]?.path, path)
  }

  await t.test('to whom', async () => {
    await refuse({ to: inbox.address }, 'recipient_is_sender')
    await refuse({ to: inbox.address.toUpperCase() }, 'recipient_is_sender')
    await refuse({ to: inbox.address.replace('@', '+tag@') }, 'recipient_is_sender')
    await refuse({ cc: ['ann@example.net', inbox.address] }, 'recipient_is_sender')
    await refuse({ bcc: [inbox.address] }, 'recipient_is_sender')
    for (const wrong of [
      '',
      'bob',
      '@example.net',
      'bob@',
      'bob@x y',
      'Bob <bob@example.net>',
      'a@b.c, d@e.f',
      'b@[127.1]',
      'b@[127.0.0.1',
      'b@[example.net]',
      'bob@127.0.0.1',
      'bob@-x.net',
      'b b@example.net',
      `${'x'.repeat(65)}@example.net`,
    ]) {
      await refuse({ replyTo: wrong }, 'invalid_request', '/replyTo')
      // With a name it is an address where a person is named.
      if (wrong.startsWith('Bob <')) continue
      await refuse({ to: wrong }, 'invalid_request', '/to')
      await refuse({ cc: ['ok@example.net', wrong] }, 'invalid_request', '/cc/1')
      await refuse({ bcc: [wrong] }, 'invalid_request', '/bcc/0')
    }
    const many = (count: number, name: string) =>
      Array.from({ length: count }, (_, i) => `${name}${i}@example.net`)
    await refuse({ cc: many(101, 'c') }, 'invalid_request', '/cc')
    await refuse({ cc: many(100, 'c') }, 'invalid_request', '')
    await refuse({ cc: many(50, 'c'), bcc: many(50, 'b') }, 'invalid_request', '')
    t.equal(await inbox.sent(), 0, 'nothing was written')
    const { body } = await send({ cc: [...many(49, 'c'), 'BOB@example.net'], bcc: many(50, 'b') })
    const { data } = (await api.get(`/v1/messages/${body.messageId}/deliveries`)).body
    t.equal(data.length, 100, 'bob once')
  })

  await t.test('bcc stays here', async t => {
    const { body } = await send({
      cc: ['cc@example.net'],
      bcc: ['hidden@example.net'],
      replyTo: 'r@example.net',
    })
    const text = await raw(body.messageId)
    t.match(text, /^Cc: cc@example\.net\r\n/m)
    t.match(text, /^Reply-To: r@example\.net\r\n/m)
    t.notMatch(text, /hidden@|^bcc:/im)
    const message = (await api.get(`/v1/messages/${body.messageId}`)).body
    t.strictSame(
      [message.cc, message.bcc, message.replyTo],
      [['cc@example.net'], ['hidden@example.net'], 'r@example.net'],
    )
  })

  await t.test('threads', async t => {
    await refuse({ subject: undefined }, 'invalid_request', '/subject')
    await refuse({ threadId: nothing }, 'not_found')
    await refuse({ threadId: 'no-id' }, 'not_found')
    const other = await makeSender(server)
    const foreign = (await other.api.send(other.id, letter)).body
    await refuse({ threadId: foreign.threadId }, 'not_found')
    const first = (await send({})).body
    const { subject: _subject, ...reply } = letter
    const second = (await api.send(inbox.id, { ...reply, threadId: first.threadId })).body
    t.equal(second.threadId, first.threadId)
    const { data, isRead } = (await api.get(`/v1/threads/${first.threadId}/messages`)).body
    t.equal(isRead, true)
    t.strictSame(
      data.map((one: { id: string; subject: string; inReplyTo: string | null }) => [
        one.id,
        one.subject,
        one.inReplyTo,
      ]),
      [
        [first.messageId, 'Hello', null],
        [second.messageId, 'Re: Hello', first.providerMessageId],
      ],
    )
    t.match(data[1].bodyText, '> Hi Bob')
  })

  await t.test('attachments', async t => {
    const at = (content: string) => ({
      attachments: [
        { filename: 'ok', content: 'YQ==' },
        { filename: 'x', content },
      ],
    })
    for (const wrong of ['%', 'Y', 'YWJj-_==', 'YQ==YQ==', 'YQ===', '====', 'ä']) {
      await refuse(at(wrong), 'invalid_request', '/attachments/1/content')
    }
    const bytes = randomBytes(attachmentsBytes + 1)
    const before = await inbox.sent()
    await refuse(
      {
        attachments: [
          { filename: 'x', content: bytes.subarray(0, 1024).toString('base64') },
          { filename: 'y', content: bytes.subarray(1024).toString('base64') },
        ],
      },
      'attachments_too_large',
    )
    t.equal(await inbox.sent(), before)
    const { body } = await send({
      attachments: [{ filename: 'x', content: bytes.subarray(1).toString('base64') }],
    })
    const message = (await api.get(`/v1/messages/${body.messageId}`)).body
    t.match(message.attachments, [
      { filename: 'x', contentType: 'application/octet-stream', sizeBytes: attachmentsBytes },
    ])
    const back = await server.apiWith(undefined).get(message.attachments[0].url)
    t.ok(back.bytes.equals(bytes.subarray(1)), '25 MB come back the same')
  })

  await t.test('nobody puts a header in', async t => {
    const evil = 'x\r\nBcc: eve@evil.example\r\nX-Evil: 1\r\n\r\nbody'
    await api.patch(`/v1/inboxes/${inbox.id}`, { displayName: `Ann${evil}` })
    const { status, body } = await send({
      subject: `s${evil}`,
      attachments: [{ filename: `f${evil}.txt`, contentType: `text/plain${evil}`, content: 'YQ==' }],
    })
    t.equal(status, 200)
    const text = await raw(body.messageId)
    t.notMatch(text, /^(X-Evil|Bcc)/im)
    const names = readHeader(Buffer.from(text, 'latin1')).fields.map(field => field.lowerName)
    const own = [
      'from',
      'to',
      'subject',
      'message-id',
      'date',
      'mime-version',
      'content-type',
      'dkim-signature',
    ]
    t.strictSame(names.sort(), own.sort())
    const message = (await api.get(`/v1/messages/${body.messageId}`)).body
    t.notMatch(
      JSON.stringify([message.subject, message.attachments]),
      /\\[rn]/,
      'and what is shown is what was sent',
    )
    await api.patch(`/v1/inboxes/${inbox.id}`, { displayName: null })
    for (const field of ['to', 'replyTo']) {
      await refuse({ [field]: 'a@example.net\r\nBcc: eve@evil.example' }, 'invalid_request', `/${field}`)
      await refuse({ [field]: '"a\r\nb"@example.net' }, 'invalid_request', `/${field}`)
    }
    await refuse({ cc: ['a@example.net\nBcc: eve@evil.example'] }, 'invalid_request', '/cc/0')
    await refuse({ threadId: 'x\r\ny' }, 'not_found')
  })
  t.strictSame(server.faults, [])
})

t.test('ids that are none', async t => {
  const server = await startApi(t)
  const withId = operations.filter(one => one.path.includes('{id}'))
  const bodies: Record<string, object> = {
    sendMessage: letter,
    replyToMessage: { body: 'b' },
    replyAllToMessage: { body: 'b' },
    forwardMessage: { to: letter.to },
    updateThread: { is_read: true },
    updateDomain: { podId: null },
  }
  for (const id of [
    '1',
    nothing,
    'x'.repeat(3000),
    '%00',
    'a%00b',
    '%2e%2e',
    '%F0%9F%99%82',
    "'%20or%201=1",
    '%25',
    '*',
  ]) {
    for (const one of withId) {
      const path = one.path.replace('{id}', id).replace('{keyId}', id)
      const body = one.body ? (bodies[one.id] ?? {}) : undefined
      const { status } = await server.api.call(one.method.toUpperCase(), path, body, {
        'idempotency-key': randomUUID(),
      })
      // The client resolves the dots itself, and what it then asks for may be there.
      const isOther = id === '%2e%2e' && [200, 400, 405].includes(status)
      t.ok(isOther || status === 404, `${one.id} ${id.slice(0, 20)}: ${status}`)
    }
  }
  t.strictSame(server.faults, [])
})

t.test('lists with more text than an answer holds', async t => {
  const { api, app, faults } = await startApi(t)
  const { id: inboxId } = (await api.post('/v1/inboxes', {})).body
  const bodyText = 'é'.repeat(storedBodyLength / 2)
  const authentication = JSON.stringify({ spf: 'none', dkim: 'none', dmarc: 'none' })
  const raised = Math.ceil((3 * listBytes) / Buffer.byteLength(bodyText))
  const thread = await app.store.write(async db => {
    const thread = await insertThreadRow(db, inboxId)
    for (let index = 0; index < raised; index++) {
      const id = app.ids.next()
      await insertMessageRow(db, thread, { id, bodyText, authentication })
    }
    return thread
  })
  const search = `/v1/messages?after=2020-01-01`
  for (const path of [
    `/v1/threads/${thread.id}/messages`,
    `/v1/inboxes/${inboxId}/messages`,
    '/v1/messages',
    search,
  ]) {
    const { status, bytes, body } = await api.get(path)
    t.equal(status, 200, path)
    t.ok(bytes.length < listBytes + 100_000, `${path}: ${bytes.length} bytes`)
    t.equal(body.data.length, raised)
    const cut = body.data.filter((one: { bodyTruncated?: boolean }) => one.bodyTruncated)
    t.ok(cut.length > 0 && cut.length < raised, `${cut.length} of ${raised} are cut`)
    for (const { id, bodyText: shown } of cut) {
      t.ok(bodyText.startsWith(shown) && shown.length === listedTextLength)
      const whole = (await api.get(`/v1/messages/${id}`)).body
      t.strictSame([whole.bodyText === bodyText, whole.bodyTruncated], [true, undefined])
    }
  }
  t.strictSame(faults, [])
})
