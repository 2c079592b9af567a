import t, { type Test } from 'tap'
import { type ProblemCode, problems, replyLoopMessages, statusOf } from '../../lib/base/problem.ts'
import type { Answer } from '../support/api.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'

const second = 1000
const day = 86_400_000

/** A limit that has been reached: how to ask once more, and after how many seconds that is granted. */
interface Reached {
  readonly server: ApiApp
  ask(of: ApiApp): Promise<Answer>
  readonly seconds: number
}

/** A standing clock that shows 23:59:12.345 (UTC). */
async function startBeforeMidnight(t: Test, settings: Parameters<typeof startApi>[1]): Promise<ApiApp> {
  const server = await startApi(t, settings)
  const { clock } = server
  clock.stand()
  const wanted = day - 48 * second + 345
  clock.advance(day + wanted - (clock.now().getTime() % day))
  return server
}

/** Each code of the catalogue with a status of 429. */
const table: Readonly<Record<string, (t: Test) => Promise<Reached>>> = {
  async rate_limit_exceeded(t) {
    const server = await startApi(t, { requestsPerMinute: 7 })
    server.clock.stand()
    for (let asked = 0; asked < 7; asked++) await server.api.get('/v1/me')
    // One in 8.57 seconds.
    return { server, ask: of => of.api.get('/v1/me'), seconds: 9 }
  },
  async inbox_creation_limit(t) {
    const server = await startBeforeMidnight(t, { toml: '[limits]\ninbox_creations_per_day = 2' })
    const ask = (of: ApiApp) => of.api.post('/v1/inboxes', {})
    for (let made = 0; made < 2; made++) await ask(server)
    return { server, ask, seconds: 48 }
  },
  async cold_outreach_limit(t) {
    const settings = { top: 'plan = "free"', toml: '[plan_free]\ncold_recipients_at_first = 2' }
    const server = await startBeforeMidnight(t, settings)
    const inbox = (await server.api.post('/v1/inboxes', {})).body.id
    const letter = (name: string) => ({ to: `${name}@example.net`, subject: 's', body: 'b' })
    for (const name of ['a', 'b']) await server.api.send(inbox, letter(name))
    return { server, ask: of => of.api.send(inbox, letter('c')), seconds: 48 }
  },
  async sending_limit(t) {
    const server = await startBeforeMidnight(t, { toml: '[sending]\nrecipients_per_inbox_hour = 3' })
    const { api } = server
    const [ann, bea] = [(await api.post('/v1/inboxes', {})).body, (await api.post('/v1/inboxes', {})).body]
    // Replies and inboxes of this server count as well.
    const first = await api.send(ann.id, { to: bea.address, cc: 'a@example.net', subject: 's', body: 'b' })
    await api.send(ann.id, { threadId: first.body.threadId, body: 'b' })
    return {
      server,
      ask: of => of.api.send(ann.id, { to: 'a@example.net', subject: 's', body: 'b' }),
      seconds: 48,
    }
  },
  async forward_verification_limit(t) {
    const server = await startApi(t, { toml: '[limits]\nforward_confirmations_per_hour = 4' })
    const { api, clock } = server
    clock.stand()
    const inbox = (await api.post('/v1/inboxes', {})).body.id
    const ask = (of: ApiApp, name = 'last') =>
      of.api.patch(`/v1/inboxes/${inbox}`, { forwardTo: `${name}@example.net` })
    for (let sent = 0; sent < 4; sent++) {
      await ask(server, `ann${sent}`)
      clock.advance(10 * second)
    }
    clock.advance(1)
    return { server, ask, seconds: 3600 - 4 * 10 }
  },
  async reply_loop(t) {
    const server = await startApi(t)
    const { api, clock } = server
    clock.stand()
    const [ann, bea] = [(await api.post('/v1/inboxes', {})).body, (await api.post('/v1/inboxes', {})).body]
    const first = await api.send(ann.id, { to: bea.address, subject: 's', body: 'b' })
    const ask = (of: ApiApp) =>
      of.api.send(ann.id, { to: bea.address, threadId: first.body.threadId, body: 'b' })
    for (let sent = 1; sent < replyLoopMessages; sent++) {
      clock.advance(10 * second)
      await ask(server)
    }
    clock.advance(10 * second + 1)
    return { server, ask, seconds: 3600 - replyLoopMessages * 10 }
  },
}

t.test('every limit of its kind is here', async t => {
  // A stream is over when its client ends it, and nobody knows when that is.
  const codes = (Object.keys(problems) as ProblemCode[]).filter(
    code => statusOf(code) === 429 && code !== 'too_many_streams',
  )
  t.strictSame(Object.keys(table).sort(), codes.sort())
})

for (const [code, reach] of Object.entries(table)) {
  t.test(`${code}: Retry-After is exact, and what was counted is counted after a restart`, async t => {
    const reached = await reach(t)
    const { ask, seconds } = reached
    let { server } = reached
    const { clock } = server
    const refused = async (left: number) => {
      const { status, body, headers } = await ask(server)
      t.strictSame([status, body.error, headers.get('retry-after')], [429, code, String(left)])
    }
    await refused(seconds)
    // The rate of a key is no promise, and is kept in memory alone.
    if (code !== 'rate_limit_exceeded') {
      server = await server.restart()
      await refused(seconds)
    }
    clock.advance((seconds - 1) * second)
    await refused(1)
    clock.advance(second)
    t.match(await ask(server), { status: /^20[01]$/ }, 'not a second longer')
    t.strictSame(server.faults, [])
  })
}

t.test('what a plan allows in a month is counted after a restart', async t => {
  const before = await startApi(t, {
    top: 'plan = "free"',
    toml: '[plan_free]\ninboxes = 3\nmessages_per_month = 2',
  })
  before.clock.stand()
  const inbox = (await before.api.post('/v1/inboxes', {})).body.id
  const letter = { to: 'bob@example.net', subject: 's', body: 'b' }
  await before.api.send(inbox, letter)
  t.equal((await before.api.post('/v1/inboxes', {})).status, 201)
  await before.api.send(inbox, letter)
  const after = await before.restart()
  t.match(await after.api.post('/v1/inboxes', {}), { status: 402, body: { error: 'spend_cap_paused' } })
  after.clock.advance(31 * day)
  t.equal((await after.api.post('/v1/inboxes', {})).status, 201)
  const last = await after.restart()
  t.match(await last.api.post('/v1/inboxes', {}), { status: 422, body: { error: 'inbox_limit_reached' } })
})
