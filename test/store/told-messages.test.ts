import t from 'tap'
import { createPace } from '../../lib/base/concurrency.ts'
import { eventBytes, listedEventBytes } from '../../lib/core/events/body.ts'
import { leaveEvent } from '../../lib/store/events.ts'
import { listBytes } from '../../lib/store/listed-messages.ts'
import type { WholeMessage } from '../../lib/store/tables.ts'
import { findToldMessage } from '../../lib/store/told-messages.ts'
import { startApi } from '../support/api-app.ts'
import { insertMessageRow, insertThreadRow } from '../support/rows.ts'

const long = 'a "quoted" line\n'.repeat(15_000)
const many = Array.from({ length: 900 }, (_each, index) => `person-${index}@example.com`)
const links = Array.from({ length: 50 }, (_each, index) => ({
  url: `https://a.example/${index}/${'l'.repeat(2000)}`,
  text: '","otp":"000000","links":[]}',
}))
const extracted = (more: object) => JSON.stringify({ replyText: null, otp: '123456', links: [], ...more })
const files = many.map(filename => ({ filename, contentType: 'text/plain', sizeBytes: 1 }))

/** What strangers can make long of a message, each for itself and together. */
const family: Record<string, Partial<WholeMessage>> = {
  text: { bodyText: long, extracted: extracted({}) },
  html: { bodyHtml: `<p>${long}`, extracted: extracted({}) },
  reply: { bodyText: `${long}> quoted`, extracted: extracted({ replyText: `${long},"otp":"000000"` }) },
  links: { bodyText: 'short', extracted: extracted({ replyText: 'short, "otp":"000000"', links }) },
  attachments: { attachments: JSON.stringify(files), extracted: extracted({}) },
  recipients: { headerTo: many.join(', '), cc: JSON.stringify(many), extracted: extracted({}) },
}
family.all = Object.assign({}, ...Object.values(family), {
  extracted: extracted({ replyText: long, links }),
})

t.test('of a page of large messages no more is read than is told', async t => {
  const { app, api, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const room = listedEventBytes
  for (const [name, changes] of Object.entries(family)) {
    const row = await app.store.write(async db => {
      return insertMessageRow(db, await insertThreadRow(db, inbox.id), { toAddr: inbox.address, ...changes })
    })
    const told = await findToldMessage(app.store.read, row.id, room, createPace())
    t.ok(told!.cut.size > 0, `${name}: cut`)
    // A code behind many links is looked for; all else has the room of the event, each.
    const most =
      name === 'links' || name === 'all' ? changes.extracted!.length + 5 * room : 5 * room + 16 * 1024
    t.ok(told!.bytes <= most, `${name}: ${told!.bytes} bytes read`)
    const whole = await findToldMessage(app.store.read, row.id, 10 * eventBytes, createPace())
    t.equal(whole!.cut.size, 0, `${name}: whole where there is room`)
    t.equal(whole!.row.bodyText, row.bodyText)
    t.equal(whole!.row.bodyHtml, row.bodyHtml)
    t.equal(whole!.row.extracted, row.extracted)
  }
  t.strictSame(faults, [])
})

t.test('HTML that has room alone and none beside the text is not read', async t => {
  const { app, api } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body
  const room = listedEventBytes
  const told = async (textBytes: number, htmlBytes: number) => {
    const texts = { bodyText: 'x'.repeat(textBytes), bodyHtml: 'x'.repeat(htmlBytes), toAddr: inbox.address }
    const row = await app.store.write(async db =>
      insertMessageRow(db, await insertThreadRow(db, inbox.id), texts),
    )
    return (await findToldMessage(app.store.read, row.id, room, createPace()))!
  }
  const [half, most] = [Math.floor(room * 0.4), Math.floor(room * 0.7)]
  t.strictSame([...(await told(half, half)).cut], [], 'both have room')
  const { cut, row } = await told(most, most)
  t.strictSame([...cut], ['bodyHtml'])
  t.equal(row.bodyText.length, most, 'the text is whole')
})

t.test('what is cut is said, and the code is found behind all texts', async t => {
  const { app, api, faults } = await startApi(t)
  const inbox = (await api.post('/v1/inboxes', {})).body

  for (let index = 0; index < 100; index++) {
    const changes = Object.values(family)[index % Object.keys(family).length]!
    await app.store.write(async db => {
      const thread = await insertThreadRow(db, inbox.id)
      const row = await insertMessageRow(db, thread, { toAddr: inbox.address, ...changes })
      leaveEvent(db, {
        ...{ id: app.ids.next(), type: 'message.received', podId: inbox.podId, inboxId: inbox.id },
        ...{ threadId: thread.id, messageId: row.id, payload: '{}', createdAt: row.createdAt },
      })
    })
  }
  const { body, bytes } = await api.get('/v1/events?limit=100')
  t.equal(body.data.length, 100)
  t.ok(bytes.length <= listBytes, `${bytes.length} bytes`)
  for (const { message } of body.data) t.equal(message.otp, '123456')
  const names = Object.keys(family)
  const last = body.data.slice(-names.length - 1).map((one: { message: object }) => one.message)
  for (const message of last) t.ok(message.truncated, JSON.stringify(message.truncated_fields))
  t.strictSame(faults, [])
})
