import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t, { type Test } from 'tap'
import { eventBytes } from '../../../lib/core/events/body.ts'
import { EventBody } from '../../../lib/model/event-body.ts'
import { leaveEvent } from '../../../lib/store/events.ts'
import { listBytes } from '../../../lib/store/listed-messages.ts'
import type { EventRow, WholeMessage } from '../../../lib/store/tables.ts'
import { startApi } from '../../support/api-app.ts'
import { insertMessageRow, insertThreadRow } from '../../support/rows.ts'

const ajv = new Ajv2020({ strict: false })
addFormats.default(ajv)
const isEventBody = ajv.compile(EventBody)

async function started(t: Test) {
  const api = await startApi(t)
  const { app } = api
  const inbox = (await api.api.post('/v1/inboxes', {})).body
  /** A row as any version has written it, `payload` and all. */
  const write = (changes: Partial<EventRow>) => {
    const row: EventRow = {
      id: app.ids.next(),
      type: 'message.received',
      podId: inbox.podId,
      inboxId: inbox.id,
      threadId: null,
      messageId: null,
      payload: '{}',
      createdAt: '2026-01-02T03:04:05.678Z',
      ...changes,
    }
    return app.store.write(async db => leaveEvent(db, row))
  }
  const message = (changes: Partial<WholeMessage>) =>
    app.store.write(async db => {
      const thread = await insertThreadRow(db, inbox.id)
      const row = await insertMessageRow(db, thread, { toAddr: inbox.address, ...changes })
      leaveEvent(db, {
        ...{ id: app.ids.next(), type: 'message.received', podId: inbox.podId, inboxId: inbox.id },
        ...{ threadId: thread.id, messageId: row.id, payload: '{}', createdAt: row.createdAt },
      })
      return row
    })
  const listed = async (query = '') => {
    const { body, bytes } = await api.api.get(`/v1/events${query}`)
    for (const event of body.data) t.ok(isEventBody(event), JSON.stringify(isEventBody.errors))
    return { events: body.data, bytes: bytes.length }
  }
  return { ...api, inbox, write, message, listed }
}

t.test('all that an agent needs stands in it', async t => {
  const { message, listed, inbox, faults } = await started(t)
  const extracted = { replyText: 'Yes', otp: '123456', links: [{ url: 'https://a.example/', text: 'A' }] }
  const row = await message({
    headerTo: 'team@ours.example, ann@ours.example',
    deliveryRole: 'cc',
    cc: JSON.stringify([inbox.address]),
    bodyText: 'Yes\n> No?',
    bodyHtml: '<p>Yes',
    extracted: JSON.stringify(extracted),
    attachments: JSON.stringify([{ filename: 'a.pdf', contentType: 'application/pdf', sizeBytes: 3 }]),
  })
  const { events } = await listed()
  t.match(events, [
    {
      event: 'message.received',
      occurred_at: row.createdAt,
      attempt: 1,
      pod_id: inbox.podId,
      inbox_id: inbox.id,
      inbox_address: inbox.address,
      thread_id: row.threadId,
      message: {
        id: row.id,
        rfc_message_id: row.rfcMessageId,
        direction: 'inbound',
        from: 'bob@example.net',
        to: inbox.address,
        header_to: ['team@ours.example', 'ann@ours.example'],
        cc: [inbox.address],
        delivery_role: 'cc',
        subject: 'Hi',
        body_text: 'Yes\n> No?',
        body_html: '<p>Yes',
        reply_text: 'Yes',
        otp: '123456',
        links: extracted.links,
        attachments: [{ filename: 'a.pdf', url: /signature=/ }],
        received_at: row.createdAt,
        category: 'personal',
        auto_replyable: true,
        verdict: 'clean',
      },
    },
  ])
  t.notOk('sent_at' in events[0].message)
  t.notOk('truncated' in events[0].message)
  t.strictSame(faults, [])
})

t.test('of what was sent, its recipients in one string', async t => {
  const { message, listed, faults } = await started(t)
  await message({ direction: 'outbound', status: 'sent', toAddr: 'bob@example.net', deliveryRole: null })
  await message({
    ...{ direction: 'outbound', status: 'sent', toAddr: 'bob@example.net', deliveryRole: null },
    headerTo: 'bob@example.net, eve@example.net',
  })
  const [one, two] = (await listed()).events
  const sent = { direction: 'outbound', reply_text: null, otp: null, links: [], sent_at: /Z$/ }
  t.match(one.message, { ...sent, to: 'bob@example.net', header_to: ['bob@example.net'] })
  t.match(two.message, {
    ...sent,
    to: 'bob@example.net, eve@example.net',
    header_to: ['bob@example.net', 'eve@example.net'],
  })
  t.notOk('received_at' in one.message)
  t.strictSame(faults, [])
})

t.test('rows of an older version, and of what is gone', async t => {
  const { api, message, write, listed, inbox, faults } = await started(t)
  // Before it was kept what a message brings, and when nobody was told its To.
  await message({ extracted: null, headerTo: null, bodyText: 'Your code is 482910.\n', subject: 'Your code' })
  await write({ messageId: '01890000-0000-7000-8000-000000000000', payload: '{"deliveryId":"x"}' })
  await write({ type: 'domain.failed', podId: null, inboxId: null, payload: '{"recordStatus":{"mx":1}}' })
  await api.delete(`/v1/inboxes/${inbox.id}`)
  const [first, second, third] = (await listed()).events
  t.match(first.message, { to: inbox.address, header_to: [], otp: '482910', body_html: '' })
  t.match(second, { message: null, data: { delivery_id: 'x' }, inbox_address: inbox.address })
  t.match(third, { message: null, inbox_id: null, inbox_address: null, data: { record_status: { mx: 1 } } })
  t.strictSame(faults, [])
})

t.test('what a stranger makes long is cut, and it says what', async t => {
  const { message, listed, faults } = await started(t)
  const long = (length: number) => 'é'.repeat(length)
  const many = (count: number) => Array.from({ length: count }, (_, n) => `${n}${'x'.repeat(50)}@example.net`)
  const cases: [name: string, changes: Partial<WholeMessage>, cut: string[] | undefined][] = [
    ['what fits', { bodyText: long(100_000), bodyHtml: long(200_000) }, undefined],
    ['HTML first', { bodyText: long(100_000), bodyHtml: long(500_000) }, ['body_html']],
    [
      'then the texts',
      { bodyText: long(900_000), bodyHtml: '<p>', extracted: replied(long(100)) },
      ['body_html', 'body_text'],
    ],
    [
      'both, and control characters',
      { bodyText: '\u0001'.repeat(900_000), extracted: replied('\u0001'.repeat(900_000)) },
      ['body_text', 'reply_text'],
    ],
    [
      'then the rest',
      {
        bodyText: long(10),
        extracted: JSON.stringify({
          ...{ replyText: long(10), otp: null },
          links: Array.from({ length: 50 }, () => ({ url: '\u0001'.repeat(4000), text: '' })),
        }),
        subject: '\u0001'.repeat(300_000),
        cc: JSON.stringify(many(3000)),
        headerTo: many(3000).join(', '),
        attachments: JSON.stringify(
          many(1000).map(filename => ({ filename, contentType: 'text/plain', sizeBytes: 1 })),
        ),
      },
      ['body_text', 'reply_text', 'links', 'attachments', 'cc', 'header_to', 'subject'],
    ],
  ]
  for (const [name, changes, cut] of cases) {
    const row = await message(changes)
    const { events } = await listed('?limit=100')
    const event = events.at(-1)
    t.equal(event.message.id, row.id)
    const alone = (await listed(`?limit=1&after=${events.at(-2)?.event_id ?? zero}`)).events[0]
    const bytes = Buffer.byteLength(JSON.stringify(alone))
    t.ok(bytes <= eventBytes, `${name}: ${bytes}`)
    t.strictSame(alone.message.truncated_fields, cut, name)
    t.equal(alone.message.truncated, cut && true, name)
    t.ok(row.bodyText.startsWith(alone.message.body_text))
    t.ok(alone.message.body_text.isWellFormed())
    // No more goes than has to: of texts about as much is left as there is room for.
    if (cut?.at(-1)?.endsWith('text')) t.ok(bytes > eventBytes / 2, `${name}: ${bytes} are left`)
  }
  const longReply = (await listed()).events[2].message
  t.equal(longReply.reply_text, long(100), 'a short text stays whole beside a long one')
  t.strictSame(faults, [])
})

t.test('a page of large ones', async t => {
  const { message, listed, write, faults } = await started(t)
  for (let n = 0; n < 5; n++) await message({ bodyText: 'x'.repeat(900_000), extracted: replied('Hi') })
  // One message that a hundred events are about is a hundred times in the page.
  const { id } = await message({ bodyText: 'y'.repeat(500_000), extracted: replied('Hi') })
  for (let n = 0; n < 94; n++) await write({ messageId: id })
  const { events, bytes } = await listed('?limit=100')
  t.equal(events.length, 100)
  t.ok(bytes < listBytes + 1000, `${bytes}`)
  t.equal(events[0].message.body_text.length, 900_000, 'as long as there is room they are whole')
  t.match(events[99].message, { id, truncated: true, reply_text: 'Hi', body_text: /^y{5000}/ })
  t.strictSame(faults, [])
})

const zero = '00000000-0000-7000-8000-000000000000'
const replied = (replyText: string) => JSON.stringify({ replyText, otp: null, links: [] })
