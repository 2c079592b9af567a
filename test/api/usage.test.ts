import t from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { systemAddress } from '../../lib/core/domains/usable.ts'
import { expireUsage } from '../../lib/core/quota/usage.ts'
import { createHttpDoor } from '../../lib/http/server.ts'
import { addToDay } from '../../lib/store/daily-usage.ts'
import { findInbox } from '../../lib/store/inboxes.ts'
import { startPeer } from '../courier/smtp/scripted-peer.ts'
import { apiOf } from '../support/api.ts'
import { startApi } from '../support/api-app.ts'
import { carryAll } from '../support/carry-all.ts'
import { startDns } from '../support/dns.ts'
import { freePort } from '../support/ports.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

const none = { inbound: 0, outbound: 0, delivered: 0, bounced: 0, attachmentBytes: 0, storedBytes: 0 }

t.test('real mail is counted: what came, what was sent, delivered and bounced', async t => {
  const mxPort = await freePort('127.0.0.13')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.13'] },
  })
  const refused: string[] = []
  const peer = await startPeer('127.0.0.13', mxPort, { RCPT: () => refused.shift() ?? '250 2.1.5 ok' })
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const { app, port, inbox } = await openDoor(t, { dns: dns.server, mxPort })
  const ann = await inbox('ann')
  await inbox('idle')
  const http = createHttpDoor(app)
  const { port: httpPort } = await http.listen('127.0.0.1', 0)
  t.teardown(() => http.stop())
  const { token } = await createKey(app, operator, { account: true }, null)
  const api = apiOf(`http://127.0.0.1:${httpPort}`, token)
  const attachments = [{ filename: 'a.txt', content: Buffer.from('Seventy-two').toString('base64') }]
  const letter = (to: string) => ({ to, subject: 's', body: 'b', attachments })
  await api.send(ann, letter('bob@theirs.example'))
  await carryAll(app)
  refused.push('550 5.1.1 No such user')
  await api.send(ann, letter('gone@theirs.example'))
  await carryAll(app)
  const later = (await api.send(ann, letter('later@theirs.example'))).body.messageId
  await carryAll(app)
  const dialog = await greetedDialog(port)
  const message = 'From: bob@theirs.example\r\nSubject: s\r\n\r\nHello\r\n'
  await dialog.envelope('bob@theirs.example', 'ann@ours.example', systemAddress(app))
  t.equal((await dialog.data(message)).code, 250)
  // The third comes back after it was taken.
  const { mailFrom } = await app.store.read
    .selectFrom('delivery')
    .select('mailFrom')
    .where('messageId', '=', later)
    .executeTakeFirstOrThrow()
  await dialog.envelope('', mailFrom!)
  t.equal(
    (await dialog.data('X-Failed-Recipients: later@theirs.example\r\n\r\n550 no such user\r\n')).code,
    250,
  )

  const { body } = await api.get('/v1/usage')
  const today = new Date().toISOString().slice(0, 10)
  t.equal(body.to, today)
  t.equal(body.rows.length, 30, 'the last 30 days')
  t.equal(body.groupBy, 'day')
  const { storedBytes, ...counts } = body.totals
  t.strictSame(counts, { inbound: 2, outbound: 3, delivered: 2, bounced: 2, attachmentBytes: 33 })
  t.ok(storedBytes > message.length)
  t.strictSame(body.rows.at(-1), { day: today, ...body.totals })
  t.strictSame(body.rows[0], { day: body.from, ...none })
  t.match(body.inboxes, [{ inboxId: ann, address: 'ann@ours.example', ...counts }])
  t.equal(body.inboxes.length, 1, 'no system inbox, and none that did nothing')
  t.match(body.limits, { plan: 'pro', inboxes: { used: 2 } })
})

t.test('by day, inbox, pod and account, within what the key reaches', async t => {
  const server = await startApi(t)
  const { api, app, apiWith } = server
  const [one, two] = [(await api.post('/v1/pods', {})).body.id, (await api.post('/v1/pods', {})).body.id]
  const make = async (podId: string) => (await api.post('/v1/inboxes', { podId })).body
  const [a, b, c] = [await make(one), await make(one), await make(two)]
  const count = (inboxId: string, day: string, inbound: number) =>
    app.store.write(async db => {
      addToDay(db, (await findInbox(db, inboxId))!, `${day}T01:00:00.000Z`, { inbound, bounced: 1 })
    })
  await count(a.id, '2026-01-01', 1)
  await count(a.id, '2026-01-03', 2)
  await count(b.id, '2026-01-02', 4)
  await count(c.id, '2026-01-03', 8)
  await count(c.id, '2026-01-04', 16)
  const range = 'from=2026-01-01&to=2026-01-03'
  const ask = async (query: string, by = api) => (await by.get(`/v1/usage?${query}`)).body
  const inbound = (rows: { inbound: number }[]) => rows.map(row => row.inbound)

  const days = await ask(range)
  t.strictSame(
    days.rows.map((row: { day: string }) => row.day),
    ['2026-01-01', '2026-01-02', '2026-01-03'],
  )
  t.strictSame(inbound(days.rows), [1, 4, 10])
  t.match(days.totals, { inbound: 15, bounced: 4 })
  const inboxes = await ask(`${range}&group_by=inbox`)
  t.strictSame(inbound(inboxes.rows), [8, 4, 3], 'the busiest first')
  t.strictSame(inboxes.rows, inboxes.inboxes)
  t.match(inboxes.rows[0], { inboxId: c.id, podId: two, address: c.address })
  const pods = await ask(`${range}&group_by=pod`)
  t.strictSame(
    new Map(pods.rows.map((row: { podId: string; inbound: number }) => [row.podId, row.inbound])),
    new Map([
      [one, 7],
      [two, 8],
    ]),
  )
  const account = await ask(`${range}&group_by=account`)
  t.strictSame(inbound(account.rows), [15])
  t.equal(account.rows[0].accountId, (await api.get('/v1/me')).body.accountId)

  const podApi = apiWith((await api.post(`/v1/pods/${one}/api-keys`, {})).body.token)
  const inboxApi = apiWith((await api.post(`/v1/inboxes/${b.id}/api-keys`, {})).body.token)
  for (const group of ['day', 'inbox', 'pod', 'account']) {
    const query = `${range}&group_by=${group}`
    const ofPod = await ask(query, podApi)
    t.equal(ofPod.totals.inbound, 7, `a pod key: ${group}`)
    t.notMatch(JSON.stringify(ofPod), c.id)
    t.notMatch(JSON.stringify(ofPod), two)
    const ofInbox = await ask(query, inboxApi)
    t.equal(ofInbox.totals.inbound, 4, `an inbox key: ${group}`)
    t.notMatch(JSON.stringify(ofInbox), a.id)
  }
  t.equal((await ask(`${range}&inboxId=${a.address}`)).totals.inbound, 3)
  t.equal((await podApi.get(`/v1/usage?inboxId=${c.address}`)).status, 404)
  await api.delete(`/v1/inboxes/${a.id}`)
  t.match((await ask(`${range}&group_by=inbox`)).rows[2], { address: a.address, inbound: 3 }, 'what was, was')

  for (const wrong of [
    'from=2026-02-30',
    'from=x',
    'to=2026',
    'from=2026-01-03&to=2026-01-01',
    'from=2025-10-01&to=2026-01-01',
    'group_by=week',
  ]) {
    t.equal((await api.get(`/v1/usage?${wrong}`)).status, 400, wrong)
  }
  t.equal((await ask('from=2025-10-02&to=2026-01-01')).rows.length, 92)
  t.equal((await ask('from=2026-01-01T23:59:59.999Z&to=2026-01-02')).rows.length, 2)
  server.clock.advance(700 * 86_400_000)
  while ((await expireUsage(app)) > 0);
  t.equal((await ask(range)).totals.inbound, 0, 'kept for 400 days')
  t.strictSame(server.faults, [])
})
