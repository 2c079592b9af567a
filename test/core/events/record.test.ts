import t from 'tap'
import { createIds, idAfter } from '../../../lib/base/ids.ts'
import { systemClock } from '../../../lib/base/time.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { recordEvent } from '../../../lib/core/events/record.ts'
import { startWebhookApp } from '../../support/webhook-app.ts'

t.test('ids of events follow the order of the writes, whatever the clocks say', async t => {
  const { app, inbox, api, claim, faults } = await startWebhookApp(t)
  const { id, podId } = await inbox('http://127.0.0.1:9/')
  // mailboxctl, by a clock that is two hours behind.
  const past = new Date(app.clock.now().getTime() - 7_200_000)
  const behind = `${past
    .getTime()
    .toString(16)
    .padStart(12, '0')
    .replace(/^(.{8})/, '$1-')}-7000-8000-000000000000`
  const other: App = Object.create(app, {
    ids: { value: { next: () => behind } },
    clock: { value: { ...app.clock, now: () => past } },
  })
  const rows: string[] = []
  const subject = { podId, inboxId: id, threadId: null, messageId: null }
  for (const one of [app, other, other, app, other]) {
    // The row of the delivery takes an id of its own, which must be new.
    const mine: App = Object.create(one, { ids: { value: one === app ? app.ids : countingFrom(behind) } })
    t.match(await app.store.write(db => recordEvent(mine, db, 'message.sent', subject)), { inboxId: id })
    const listed = (await api.get('/v1/events?type=message.sent')).body.data
    rows.push(listed.at(-1).event_id)
  }
  t.strictSame(rows, [...new Set(rows)].sort(), 'each comes after those before it')
  t.equal((await claim()).length, 5)
  t.strictSame(faults, [])
})

t.test('who calls webhooks is told of an event at its commit, where there is a webhook to call', async t => {
  const { app, inbox, record, faults } = await startWebhookApp(t)
  const told: string[] = []
  app.queue.onPut('webhook', () => told.push('webhook'))
  app.store.onCommit('event', () => told.push('event'))
  const { id } = await inbox('http://127.0.0.1:9/')
  const { id: other } = await inbox(null)
  told.length = 0
  await record(other)
  t.strictSame(told.splice(0), ['event'])
  await record(id)
  t.strictSame(told.splice(0).sort(), ['event', 'webhook'])
  t.strictSame(faults, [])
})

let used = 0
function countingFrom(start: string) {
  return {
    next: () => `${start.slice(0, -12)}${(++used).toString(16).padStart(12, '0')}`,
  }
}

t.test('the id after an id', t => {
  t.equal(idAfter('01890000-0000-7000-8000-00000000000f'), '01890000-0000-7000-8000-000000000010')
  t.equal(idAfter('01890000-0000-7000-8000-ffffffffffff'), '01890000-0000-7000-8001-000000000000')
  const id = createIds(systemClock).next()
  t.ok(idAfter(id) > id)
  t.end()
})
