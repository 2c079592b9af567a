import t from 'tap'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { type Awaited, waitForMessages, waitLookMs } from '../../../lib/core/mailbox/wait.ts'
import { pageSizeMax } from '../../../lib/model/page.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'
import { insertMessageRow, insertThreadRow } from '../../support/rows.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { statementsOf } from '../../support/statements.ts'
import { until } from '../../support/until.ts'

const zone = {
  'shop.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  'mail.shop.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  'evil.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
  'plain.example': {},
  'strict.example': { TXT: ['v=spf1 -all'] },
  '_dmarc.strict.example': { TXT: ['v=DMARC1; p=quarantine'] },
}

t.test('who waits for an author gets the mail of that one alone', async t => {
  const dns = await startDns(zone)
  t.teardown(() => dns.close())
  const { app, port, inbox } = await openDoor(t, { dns: dns.server })
  const id = await inbox('agent')
  const dialog = await greetedDialog(port)
  const mail = async (from: string, subject: string, mailFrom = 'x@evil.example') => {
    await dialog.envelope(mailFrom, 'agent@ours.example')
    const { code } = await dialog.data(
      `From: ${from}\r\nSubject: ${subject}\r\n\r\nYour login code is 482913.`,
    )
    t.equal(code, 250, from)
  }
  const wait = async (awaited: Awaited, timeoutMs = 0) => {
    const { data } = await waitForMessages(
      app,
      operator,
      id,
      awaited,
      timeoutMs,
      new AbortController().signal,
    )
    return data.map(({ subject }) => subject)
  }
  const coming = wait({ from: 'shop.example' }, 60_000)
  await until('somebody waits', () => app.waiters.count() === 1 || undefined)
  await mail('shop@plain.example', 'without a record')
  await mail('"login@shop.example" <m@evil.example>', 'a display name')
  await mail('shop.example@evil.example', 'a local part')
  await mail('m@shop.example.evil.example', 'a longer domain')
  await mail('login@shop.example', 'forged')
  await mail('login@strict.example', 'spam')
  await mail('login@shop.example', 'the shop', 'b@shop.example')
  t.strictSame(await coming, ['the shop'])
  await mail('login@mail.shop.example', 'below the shop', 'b@mail.shop.example')

  const after = '2020-01-01T00:00:00.000Z'
  const found = ['below the shop', 'the shop']
  t.strictSame(await wait({ after, from: 'shop.example' }), found, 'a domain, and those below it')
  t.strictSame(await wait({ after, from: '@shop.example' }), found)
  t.strictSame(await wait({ after, from: 'Login@Shop.example' }), ['the shop'], 'an address')
  t.strictSame(await wait({ after, from: 'login shop' }), ['the shop', 'a display name'], 'words')
  for (const from of [
    'login@@shop.example',
    'login@shop..example',
    'login@shop.example,',
    'Shop <login@shop@x>',
  ])
    t.strictSame(await wait({ after, from }), [], `${from} names nobody`)
  t.strictSame(await wait({ after, from: 'login@shop.example', unproven: true }), [
    'the shop',
    'forged',
    'a display name',
  ])
  t.notOk((await wait({ after })).includes('spam'), 'spam is passed over')
  t.strictSame(await wait({ after, from: 'strict.example', unproven: true }), [])
})

t.test(
  'forged mail with the awaited sender costs a wait no bodies, and its look ends with the request',
  async t => {
    const server = await startApi(t)
    const { id } = (await server.api.post('/v1/inboxes', {})).body
    const pages = 4
    await server.app.store.write(async db => {
      const thread = await insertThreadRow(db, id)
      const row = (index: number, subject: string, fromProven: number) =>
        insertMessageRow(db, thread, {
          subject,
          fromProven,
          fromAddr: 'login@shop.example',
          createdAt: new Date(Date.UTC(2026, 0, 2) + index).toISOString(),
        })
      const count = pages * pageSizeMax
      for (let index = 0; index < count; index++) await row(index, 'forged', 0)
      await row(count, 'the shop', 1)
    })
    const awaited = { from: 'shop.example', after: '2026-01-01T00:00:00.000Z' }
    const awaitedBy = (app: App, signal = new AbortController().signal) =>
      waitForMessages(app, operator, id, awaited, 0, signal)
    const found: string[] = []
    const statements = await statementsOf(async () => {
      const { data } = await awaitedBy(server.app)
      found.push(...data.map(({ subject }) => subject))
    })
    t.strictSame(found, ['the shop'])
    const ofBodies = statements.filter(text => text.includes('"bodyText"') && !text.includes('sum('))
    t.ok(ofBodies.length <= 2, 'only the page of the shop is read whole')

    const stop = new AbortController()
    const gone = awaitedBy(server.app, stop.signal)
    setImmediate(() => stop.abort(new Error('the client is gone')))
    await t.rejects(gone, { message: 'the client is gone' })

    let calls = 0
    const clock = { ...server.app.clock, monotonicMs: () => (calls++ < 3 ? 0 : waitLookMs) }
    const { data } = await awaitedBy(Object.create(server.app, { clock: { value: clock } }))
    t.strictSame(data, [], 'the time for looking is over before the last page')
  },
)
