import { hash } from 'node:crypto'
import type { Test } from 'tap'
import { operations } from '../../lib/api/index.ts'
import type { Clock } from '../../lib/base/time.ts'
import { startPeer } from '../courier/smtp/scripted-peer.ts'
import { type Api, apiOf } from '../support/api.ts'
import { openBothDoors } from '../support/both-doors.ts'
import { carryAll } from '../support/carry-all.ts'
import { startDns } from '../support/dns.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'
import { namedRows, namedWith, namesOfChance } from '../support/names-of-chance.ts'
import { freePort } from '../support/ports.ts'

/** So much of an answer is shown; of the rest it shows whether it is another. */
const shownLength = 70

/** The same numbers each time, in [0, 1). */
function numbersOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

function shortly(text: string): string {
  if (text.length <= shownLength) return text
  return `${text.slice(0, shownLength)}… ${hash('sha256', text).slice(0, 8)}`
}

const outsiders = [
  'kim@there.example',
  'eve@there.example',
  'nobody@there.example',
  'full@there.example',
  'x@none.example',
]

async function open(t: Test, toml: string, database: string | undefined) {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'there.example': { MX: [{ priority: 1, exchange: 'mx.there.example' }] },
    'mx.there.example': { A: ['127.0.0.9'] },
    'none.example': { MX: [{ priority: 0, exchange: '' }] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort, {
    RCPT: () => {
      const to = peer.commands.at(-1)!
      if (/nobody/.test(to)) return '550 5.1.1 no such user'
      return /full/.test(to) ? '452 4.2.2 mailbox full' : '250 2.1.5 ok'
    },
  })
  t.teardown(() => peer.close())
  let nowMs = Date.parse(beginsAt)
  const clock: Clock = { now: () => new Date(nowMs), monotonicMs: () => nowMs - 1e12 }
  const doors = await openBothDoors(t, {
    clock,
    dns: dns.server,
    mxPort,
    random: () => 0.5,
    ...(database !== undefined && { database }),
    toml: `[delivery]\nmode = "mx"\n[http]\nrequests_per_minute = 100000\n${toml}`,
  })
  return {
    ...doors,
    pass(ms: number) {
      nowMs += ms
    },
  }
}

/** When each begins. */
export const beginsAt = '2026-11-29T20:00:00Z'

export interface History {
  readonly seed: number
  readonly toml: string
}

/**
 * Operations by chance on what is there and on what is not, by keys of the account, a pod and an inbox, while time passes: all answers, and all rows at
 * their end, are those that are kept of this history, whichever the database is.
 * @param database the URL of a PostgreSQL; a file otherwise
 */
export async function sameHistory(t: Test, { seed, toml }: History, database?: string): Promise<void> {
  const { app, api, baseUrl, receive, pass } = await open(t, toml, database)
  const number = numbersOf(seed)
  const one = <T>(list: readonly T[]): T => list[Math.floor(number() * list.length)]!
  const isRare = () => number() < 0.12
  const names = namesOfChance()
  const steps: string[] = []
  const known = new Map<string, string[]>()
  const learn = (kind: string, id: unknown) => {
    if (typeof id !== 'string') return
    const ids = known.get(kind) ?? []
    known.set(kind, ids)
    if (!ids.includes(id)) ids.push(id)
  }
  /** One that there is, or was; rarely one that never was. */
  const some = (kind: string) =>
    (number() < 0.04 ? undefined : one((known.get(kind) ?? []).slice(-4))) ??
    '01890000-0000-7000-8000-000000000000'

  const ask = async (method: string, path: string, body?: object, by: Api = api, key?: string) => {
    pass(1000)
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const answer = await by.call(method, path, body, headers)
    const said =
      answer.body === undefined ? answer.bytes.toString() : JSON.stringify(namedWith(names, answer.body))
    const asked = body === undefined ? '' : ` ${names(JSON.stringify(body))}`
    steps.push(`${method} ${names(path)}${asked} -> ${answer.status} ${shortly(said)}`)
    return answer.body
  }
  const make = async (kind: string, path: string, body: object, by?: Api, key?: string) => {
    const made = await ask('POST', path, body, by, key)
    learn(kind, made?.id ?? made?.messageId)
    learn('thread', made?.threadId)
  }

  await make('inbox', '/v1/inboxes', { mailboxName: 'ann' })
  await make('pod', '/v1/pods', { name: 'One' })
  await make('inbox', '/v1/inboxes', { mailboxName: 'bea', podId: some('pod') })
  const pod = known.get('pod')![0]!
  const keyOf = async (path: string) => {
    // Of two ids of one millisecond chance says which is the first.
    pass(1000)
    return apiOf(baseUrl, (await api.post(path, {})).body.token)
  }
  const byPod = await keyOf(`/v1/pods/${pod}/api-keys`)
  const byInbox = await keyOf(`/v1/inboxes/${known.get('inbox')![0]}/api-keys`)
  const someone = () => one([api, api, api, byPod, byInbox])
  const ours = ['ann', 'bea', 'carl', 'dora'].map(name => `${name}@ours.example`)
  const people = () =>
    one([one(outsiders), one(ours), [one(outsiders), one(ours)], [one(outsiders), one(outsiders)]])
  const letter = () => ({
    to: people(),
    ...(isRare() && { cc: [one(outsiders)] }),
    subject: isRare() ? '' : one(['Plan', 'Re: Plan', 'Hello']),
    body: one(['Text', 'Your code is 482913.', 'See https://example.com/x']),
    ...(isRare() && { attachments: [{ filename: 'a.txt', content: 'aGk=' }] }),
  })
  const key = () => `k${Math.floor(number() * 60)}`
  const scope = () => one(['', `?podId=${some('pod')}`, `?inboxId=${some('inbox')}`])
  const value = () => one(['there.example', '*.example', 'kim@there.example', 'ours.example', 'nonsense x'])
  const list = () =>
    one([
      `/v1/inboxes/${some('inbox')}/messages?direction=${one(['inbound', 'outbound'])}`,
      `/v1/messages?q=${one(['plan', 'code', 'text', 'bob'])}&limit=${one([1, 3, 50])}`,
      `/v1/messages?limit=2&offset=${one([0, 1, 2, 5])}`,
      `/v1/threads?limit=${one([1, 5])}`,
      `/v1/inboxes?limit=${one([1, 2, 20])}&offset=${one([0, 1])}`,
      `/v1/messages/${some('message')}`,
      `/v1/messages/${some('message')}/deliveries`,
      `/v1/threads/${some('thread')}/messages`,
      `/v1/inboxes/${some('inbox')}`,
      `/v1/inboxes/${some('inbox')}/messages/wait?timeout=0`,
      `/v1/events?limit=${one([1, 5, 20])}`,
      `/v1/events?inboxId=${some('inbox')}&type=${one(['message.sent', 'message.received', 'message.bounced'])}`,
      `/v1/usage?group_by=${one(['day', 'inbox', 'pod', 'account'])}&from=2026-11-${one(['01', '28', '31'])}`,
      `/v1/usage?inboxId=${some('inbox')}&to=${one(['2026-12-01', '2026-11-30', '2027-01-01'])}`,
      `/v1/policy${scope()}`,
      `/v1/policy/audit?limit=${one([1, 10])}`,
      `/v1/queue?state=${one(['waiting', 'parked', 'held'])}`,
      `/v1/queue?domain=${one(['there.example', 'none.example'])}`,
      ...['/v1/queue-holds', '/v1/suppressions', '/v1/pods', '/v1/me', '/v1/domains', '/v1/members'],
      `/v1/drafts/${some('draft')}`,
      `/v1/inboxes/${some('inbox')}/drafts`,
    ])
  let letters = 0
  const operations: readonly (readonly [weight: number, () => Promise<unknown>])[] = [
    [9, () => make('message', `/v1/inboxes/${some('inbox')}/send`, letter(), someone(), key())],
    [
      6,
      async () => {
        const parent = one(['', `In-Reply-To: <${Math.floor(number() * 20)}@there.example>\n`])
        const from = one(['Bob <bob@there.example>', 'no-reply@shop.example', 'kim@there.example'])
        const text = one(['Hello', 'Your code is 482913.', 'Yes\n\n> Hello'])
        const header = `From: ${from}\nSubject: ${one(['Plan', 'Re: Plan'])}\nMessage-ID: <${++letters}@there.example>\n${parent}`
        const failed = await receive(one(['ann', 'bea']), `${header}\n${text}\n`).then(
          () => 'taken',
          (error: Error) => error.message,
        )
        steps.push(`mail from ${from} -> ${names(failed)}`)
        for (const { id } of (await api.get('/v1/messages?limit=3')).body.data) learn('message', id)
      },
    ],
    [4, async () => void (await carryAll(app))],
    [12, () => ask('GET', list(), undefined, someone())],
    [
      2,
      () =>
        make(
          'message',
          `/v1/messages/${some('message')}/${one(['reply', 'reply-all'])}`,
          { body: 'Yes' },
          someone(),
          key(),
        ),
    ],
    [
      1,
      () =>
        make('message', `/v1/messages/${some('message')}/forward`, { to: one(outsiders) }, someone(), key()),
    ],
    [
      2,
      () =>
        make(
          'inbox',
          '/v1/inboxes',
          {
            ...(isRare() ? {} : { mailboxName: one(['carl', 'dora', 'ann']) }),
            ...(isRare() && { podId: some('pod') }),
            ...(isRare() && { clientId: 'mine' }),
          },
          one([api, byPod]),
        ),
    ],
    [
      1,
      () =>
        ask('PATCH', `/v1/inboxes/${some('inbox')}`, { displayName: one(['Ann', 'Lee', null]) }, someone()),
    ],
    [1, () => make('pod', '/v1/pods', { name: 'Two', clientId: one(['p', 'q']) })],
    [
      3,
      () =>
        make(
          'rule',
          `/v1/policy/rules${scope()}`,
          { direction: one(['inbound', 'outbound']), type: one(['block', 'allow']), value: value() },
          someone(),
        ),
    ],
    [2, () => ask('DELETE', `/v1/policy/rules/${some('rule')}`, undefined, someone())],
    [
      1,
      () =>
        ask(
          'PUT',
          `/v1/policy/mode${scope()}`,
          { direction: one(['inbound', 'outbound']), mode: one(['none', 'none', 'allowlist', 'inherit']) },
          someone(),
        ),
    ],
    [
      1,
      () =>
        ask('POST', '/v1/suppressions', {
          recipient: one([...outsiders, ...ours]),
          ...(isRare() && { expiresAt: '2026-12-01T00:00:00Z' }),
        }),
    ],
    [1, () => ask('DELETE', `/v1/suppressions?recipient=${one(outsiders)}`)],
    [2, () => make('draft', `/v1/inboxes/${some('inbox')}/drafts`, isRare() ? {} : letter(), someone())],
    [
      2,
      () =>
        ask(
          'PATCH',
          `/v1/drafts/${some('draft')}`,
          one([{ body: 'New' }, { sendAt: '2026-12-02T08:00:00Z' }, { sendAt: null }, { to: people() }]),
          someone(),
        ),
    ],
    [2, () => ask('POST', `/v1/drafts/${some('draft')}/send`, undefined, someone(), key())],
    [1, () => ask('DELETE', `/v1/drafts/${some('draft')}`, undefined, someone())],
    [1, () => ask('PATCH', `/v1/threads/${some('thread')}`, { is_read: one([true, false]) }, someone())],
    [1, () => ask('DELETE', `/v1/messages/${some('message')}`, undefined, someone())],
    [1, () => ask('DELETE', `/v1/threads/${some('thread')}`, undefined, someone())],
    [
      3,
      () =>
        ask('POST', `/v1/queue/${one(['hold', 'release', 'retry', 'cancel'])}`, {
          ...one([
            { domain: 'there.example' },
            { inboxId: some('inbox') },
            { podId: some('pod') },
            { state: 'held' },
          ]),
          ...(!isRare() && { confirm: true }),
        }),
    ],
  ]
  const wheel = operations.flatMap(([weight, work]) => Array.from({ length: weight }, () => work))
  for (let step = 0; step < 90; step++) {
    pass(one([1000, 1000, 1000, 60_000, 60_000, 900_000, 7_200_000]))
    await one(wheel)()
    await app.store.placed()
  }
  // Besides what says nothing, when a key was used last: that is noted while other requests go on.
  const leftOut = /"(?:lastUsedAt":"[^"]*"|\w+":(?:null|""))(?:,|(?=\}))/g
  const rows = (await namedRows(app.store.read, names)).map(
    ([name, lines]): Facts => [
      name,
      lines.map(line => shortly(line.replaceAll(leftOut, '').replaceAll('"', ''))),
    ],
  )
  sameFacts(t, `history-${seed}`, [['steps', steps.map((line, at) => `${at + 1}. ${line}`)], ...rows])
  t.strictSame(await listsThatDisagree(api), [], 'lists, their pages and their filters')
}

interface Row {
  readonly [name: string]: unknown
}

/** Filters of which a row says itself whether it is meant, with what they may be. */
const filters: Readonly<Record<string, readonly string[]>> = {
  direction: ['inbound', 'outbound'],
  category: ['personal', 'automated', 'marketing', 'spam'],
  isRead: ['true', 'false'],
  reason: ['manual', 'bounce', 'complaint'],
  action: ['rule_added', 'rule_removed', 'mode_changed', 'refused'],
  address: ['ann@ours.example', 'none@ours.example'],
  domain: ['one.example', 'none.example'],
  type: ['message.sent', 'message.received', 'message.bounced'],
}

/** What of the lists contradicts itself: pages that are not those of the whole, totals, and filters that are not those of the rows. */
async function listsThatDisagree(api: Api): Promise<string[]> {
  const wrong: string[] = []
  const [inbox] = (await api.get('/v1/inboxes')).body.data
  // Of these the history makes none.
  for (const domain of ['one.example', 'two.example']) await api.post('/v1/domains', { domain })
  const list = async (path: string, query: Readonly<Record<string, string | number>>) => {
    const { status, body } = await api.get(`${path}?${new URLSearchParams(query as Record<string, string>)}`)
    if (status !== 200) throw new Error(`${path} ${JSON.stringify(query)}: ${JSON.stringify(body)}`)
    return body as { readonly data: readonly Row[]; readonly total?: number }
  }
  for (const { method, path: declared, query } of operations) {
    const names = Object.keys((query as { properties?: object } | undefined)?.properties ?? {})
    if (method !== 'get' || !names.includes('limit')) continue
    const path = declared.replace('{id}', inbox.id)
    const hold = (what: string, is: unknown, right: unknown) => {
      if (JSON.stringify(is) !== JSON.stringify(right)) wrong.push(`${path} ${what}: ${JSON.stringify(is)}`)
    }
    const whole = await list(path, { limit: 100 })
    if (names.includes('offset')) hold('total', whole.total, whole.data.length)
    const paged: Row[] = []
    for (let last: readonly Row[] | undefined; last === undefined || last.length === 3; ) {
      const from = names.includes('offset')
        ? { offset: paged.length }
        : paged.length > 0
          ? { after: String(paged.at(-1)!.event_id) }
          : {}
      const page = await list(path, { limit: 3, ...from })
      hold('total of a page', page.total, whole.total)
      last = page.data
      paged.push(...last)
    }
    hold('pages', paged, whole.data)
    if (names.includes('newest'))
      hold('newest', (await list(path, { limit: 4, newest: 'true' })).data, whole.data.slice(-4))
    for (const [name, values] of Object.entries(filters)) {
      if (!names.includes(name) || whole.data.length === 0 || !(name in whole.data[0]!)) continue
      for (const value of values) {
        const some = await list(path, { limit: 100, [name]: value })
        const right = whole.data.filter(row => String(row[name]) === value)
        hold(`${name}=${value}`, some.data, right)
        if (names.includes('offset')) hold(`total of ${name}=${value}`, some.total, right.length)
      }
    }
  }
  return wrong
}
