import t from 'tap'
import { invalidRequest, Problem, type ProblemCode } from '../../lib/base/problem.ts'
import { Reply, replyClasses } from '../../lib/base/reply.ts'

import { reachesInbox, requireAccess } from '../../lib/core/app/caller.ts'
import { waitBoundsOf } from '../../lib/core/delivery/waits.ts'
import { changesAfterCheck } from '../../lib/core/domains/outcome.ts'
import { withinBounds } from '../../lib/core/events/bounds.ts'
import { takesEvent } from '../../lib/core/events/subscription.ts'
import { createEventWindow, sourcesOf, type WindowEvent } from '../../lib/core/events/window.ts'
import { failureOf, outcomeSaid } from '../../lib/core/inbound/failure.ts'
import { judge, type Opinions } from '../../lib/core/inbound/verdict.ts'
import { chooseAddressees, readNamed } from '../../lib/core/outbound/addressees.ts'
import { deriveRecipients } from '../../lib/core/outbound/correspondents.ts'
import {
  decide,
  effectiveMode,
  normalisePolicyValue,
  type PolicyLevel,
  rulesInForce,
} from '../../lib/core/policy/decision.ts'
import { nextDay, nextMonth, secondsUntil, utcDay, utcMonth } from '../../lib/core/quota/period.ts'
import { submittedAddressees } from '../../lib/core/submission/addressees.ts'
import { refusalOf } from '../../lib/core/submission/refusal.ts'
import type { EventBody } from '../../lib/model/event-body.ts'
import type { PolicyMode } from '../../lib/model/policy.ts'
import type { DomainRow, EventRow } from '../../lib/store/tables.ts'
import { choicesOf } from '../support/choices.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'

/** What comes of it, or why it is refused. */
function resultOf(work: () => unknown): unknown {
  try {
    return work() ?? 'no objection'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return `${error.code}: ${error.message} ${JSON.stringify(error.more)}`
  }
}

/** A line of what is said to each. */
const lines = <T>(cases: readonly T[], say: (one: T) => unknown) =>
  cases.map(one => `${JSON.stringify(one)} -> ${JSON.stringify(say(one))}`)

/** Every choice of one of each list. */
function choices<T extends Readonly<Record<string, readonly unknown[]>>>(
  lists: T,
): { [K in keyof T]: T[K][number] }[] {
  const all = Object.entries(lists).reduce<Record<string, unknown>[]>(
    (before, [name, list]) => before.flatMap(one => list.map(value => ({ ...one, [name]: value }))),
    [{}],
  )
  return all as { [K in keyof T]: T[K][number] }[]
}

const addresses = [
  'ann@ours.example',
  'ann+tag@ours.example',
  'bob@there.example',
  'bob+x@there.example',
  'Bob@There.example',
  'eve@mail.there.example',
]

t.test('sender rules', async t => {
  const { one, some, upTo } = choicesOf(1)
  const values = [
    ...['bob@there.example', 'bob+x@there.example', 'there.example', 'mail.there.example'],
    ...['*.there.example', '*.example', 'eve@mail.there.example', 'other.example'],
  ]
  const level = (at: number): PolicyLevel => {
    const rules = some(values, 3).map((value, index) => ({
      id: `${at}.${index}`,
      type: one(['block', 'allow', 'allow'] as const),
      value,
    }))
    const mode = one<PolicyMode>(
      at === 0 ? ['none', 'allowlist'] : ['none', 'allowlist', 'inherit', 'inherit'],
    )
    return { scope: 'account', setBy: 'account', mode, rules }
  }
  const shown = (levels: readonly PolicyLevel[]) =>
    levels
      .map(({ mode, rules }) => `${mode} [${rules.map(rule => `${rule.type[0]} ${rule.value}`).join(', ')}]`)
      .join(' / ')
  const facts: Facts[] = []
  for (let at = 1; at <= 160; at++) {
    const levels = Array.from({ length: upTo(3) }, (_, place) => level(place))
    const who = some(addresses.slice(2), 2).map(address => address.toLowerCase())
    const allowable = one([who[0] ?? null, who[0] ?? null, null])
    const isProven = upTo(3) > 0
    const decision = decide(levels, { addresses: who, allowable, isProven })
    facts.push([
      `${at}. ${shown(levels)}; ${who.join(' ')}; ${allowable} ${isProven}`,
      [
        decision.isPermitted ? 'permitted' : `${decision.reason} ${decision.address} ${decision.rule?.id}`,
        `${effectiveMode(levels)} ${levels.flatMap(rulesInForce).map(({ id }) => id)}`,
      ],
    ])
  }
  const texts = [
    ...[
      ...addresses,
      ...values,
      '@there.example',
      '*@there.example',
      '*.example',
      '*.',
      '*',
      '',
      '@',
      '*@',
      'a*@b.example',
    ],
    ...[
      'com',
      '*.COM',
      'Grüße.example',
      '@com',
      '[192.0.2.1]',
      '@[192.0.2.1]',
      'bob@[192.0.2.1]',
      'bob@com',
      ' a.example',
      'a..example',
    ],
  ]
  facts.push(['as it is stored', lines([...new Set(texts)], text => normalisePolicyValue(text) ?? null)])
  sameFacts(t, 'rules-policy', facts)
})

t.test('what is thought of a message', async t => {
  const opinions: readonly Opinions[] = [
    {},
    { virus: 'Eicar' },
    { spamAction: 'add header' },
    { dnsList: 'list.example' },
    { spamAction: 'reject', dnsList: 'list.example' },
  ]
  const all = choices({
    dmarc: ['pass', 'fail', 'temperror', 'none'],
    policy: [undefined, 'none', 'quarantine', 'reject'],
    isDenied: [false, true],
    isExcused: [false, true],
    isAuthorSure: [true, false],
    isAligned: [false, true],
    isWhole: [true, false],
    heeds: [true, false],
    opinion: opinions,
  } as const)
  // What is judged at all, and by a digit which of it each choice gets: a line for each would be a hundred times as long.
  const facts = choices({
    dmarc: ['pass', 'fail', 'temperror', 'none'],
    policy: [undefined, 'none', 'quarantine', 'reject'],
  } as const)
  const told = facts.map(({ dmarc, policy }): Facts => {
    const mine = all.filter(each => each.dmarc === dmarc && each.policy === policy)
    const said = mine.map(({ heeds, opinion, ...proof }) => {
      const authentication = { spf: 'none', dkim: 'none', dmarc } as const
      const classified = {
        category: 'personal',
        autoReplyable: true,
        autoReplyReason: 'person',
        reason: 'plain',
      } as const
      const { verdict, category, autoReplyable, reason } = judge(
        classified,
        { ...proof, requiresProof: false, authentication },
        opinion,
        heeds,
      )
      return `${verdict} ${category} ${autoReplyable} ${reason}`
    })
    const kinds = [...new Set(said)].sort()
    return [
      `${dmarc} ${policy}`,
      [...kinds, said.map(one => kinds.indexOf(one).toString(36)).join('')].flatMap(
        one => one.match(/.{1,160}/g)!,
      ),
    ]
  })
  sameFacts(t, 'rules-verdict', told)
})

t.test('whom a message goes to', async t => {
  const { one, some, upTo } = choicesOf(2)
  const written = [
    ...addresses,
    'Bob <bob@there.example>',
    '"Lee, Ann" <ann@ours.example>',
    'Kim <Kim@Far.example>',
    'kim@far.example',
    `${'n'.repeat(400)} <far@far.example>`,
    'nonsense',
    'two@a.example, three@a.example',
  ]
  const usual = written.slice(2, 10)
  const facts: Facts[] = []
  for (let at = 1; at <= 220; at++) {
    const pool = upTo(5) === 0 ? written : usual.filter(each => !/nn/.test(each))
    const list = () => one([undefined, some(pool, 3), some(pool, 3), one(pool)])
    const request = { to: list(), cc: list(), bcc: list(), ...(upTo(6) === 0 && { replyTo: one(written) }) }
    const answered = {
      direction: one(['inbound', 'inbound', 'outbound']),
      fromAddr: one([...addresses, 'nonsense']),
      replyTo: one([null, null, some(usual, 2).join(', '), 'nonsense']),
      toAddr: one(addresses).toLowerCase(),
      headerTo: one([null, some(usual, 3).join(', ')]),
      cc: JSON.stringify(some(addresses, 3)),
      deliveryRole: one(['to', 'cc', 'bcc']),
      addressNames: one([
        null,
        JSON.stringify({ 'bob@there.example': 'Bob', 'kim@far.example': 'K'.repeat(400) }),
      ]),
    }
    const isReply = upTo(2) > 0
    const asked = isReply ? { ...request, answered } : request
    facts.push([
      `${at}. ${JSON.stringify(asked)
        .replace(/n{50,}/g, 'n…')
        .replace(/K{50,}/g, 'K…')}`,
      resultOf(() => {
        const asked = { isToAll: upTo(1) === 0, participants: null }
        const derived = isReply ? deriveRecipients(answered as never, 'ann@ours.example', asked) : undefined
        const chosen = chooseAddressees(readNamed(request as never), 'ann@ours.example', derived)
        const people = (list: readonly { address: string; name: string; written?: string | undefined }[]) =>
          list
            .map(
              ({ address, name, written: as }) =>
                `${name.slice(0, 8)}${name.length} <${address}> ${as ?? ''}`,
            )
            .join(', ')
        const { to, cc, bcc, replyTo, all } = chosen
        return [
          `to ${people(to)}`,
          `cc ${people(cc)}`,
          `bcc ${people(bcc)}`,
          `${replyTo} ${all} ${[...chosen.written]}`,
        ]
      }),
    ])
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => `n${index}@far.example`)
  for (const count of [49, 50, 51, 99, 100, 101])
    facts.push([
      `${count} recipients`,
      resultOf(() => {
        const { all } = chooseAddressees(readNamed({ to: many(count) }), 'ann@ours.example', undefined)
        return all.length
      }),
    ])
  for (let at = 1; at <= 80; at++) {
    const people = () => some(['Bob@There.example', 'bob@there.example', 'kim@far.example', 'nonsense'], 3)
    const rcptTos = [one(addresses.slice(2)), ...some(addresses.slice(upTo(6) === 0 ? 0 : 2), 3)]
    const named = { to: people(), cc: people(), replyTo: people() }
    const mailboxes = (list: string[]) => list.map(address => ({ address, name: `of ${address.length}` }))
    facts.push([
      `submitted ${at}. ${rcptTos} ${JSON.stringify(named)}`,
      resultOf(() => {
        const { written: as, ...rest } = submittedAddressees('ann@ours.example', rcptTos, {
          to: mailboxes(named.to),
          cc: mailboxes(named.cc),
          replyTo: mailboxes(named.replyTo),
        })
        return [JSON.stringify(rest), JSON.stringify([...as])]
      }),
    ])
  }
  sameFacts(t, 'rules-addressees', facts)
})

t.test('how an event is cut', async t => {
  const { one, upTo } = choicesOf(3)
  const facts: Facts[] = []
  for (let at = 1; at <= 120; at++) {
    const text = (most: number) => one(['x', 'č', '🐟', '"\n']).repeat(one([0, 3, 40, most]))
    const list = (most: number) => Array.from({ length: one([0, 1, most]) }, () => 'bob@there.example')
    const message = {
      to: text(2000),
      header_to: list(60),
      cc: list(60),
      subject: text(2500),
      body_text: text(4000),
      body_html: text(4000),
      reply_text: one([null, text(3000)]),
      links: list(20).map(url => ({ url, text: url })),
      attachments: list(10).map(filename => ({ filename, contentType: 'a/b', sizeBytes: 1, url: filename })),
    }
    const body = { event: 'message.received', message, data: {} } as unknown as EventBody
    const room = one([300, 1000, 2500, 4000, 7000, 12_000, 40_000]) + upTo(9)
    const { body: told, json, bytes } = withinBounds(body, room)
    const sizes = (each: object) =>
      Object.values(each)
        .map(value => (value as { length?: number } | null)?.length ?? value)
        .join(' ')
    facts.push([
      `${at}. ${sizes(message)} within ${room}`,
      [`${bytes} ${json.length}`, sizes(told.message!), `${told.message!.truncated_fields}`],
    ])
  }
  facts.push(['of no message', withinBounds({ message: null } as EventBody, 1).json])
  sameFacts(t, 'rules-event-bounds', facts)
})

t.test('who gets which event, and from where', async t => {
  const callers = [
    { keyId: 'k', podId: null, inboxId: null },
    { keyId: 'k', podId: 'p', inboxId: null },
    { keyId: 'k', podId: 'p', inboxId: 'i' },
  ]
  const subscriptions = choices({
    inboxIds: [null, [], ['i'], ['i', 'j']],
    types: [null, [], ['a'], ['a', 'b']],
  } as const)
  const events = choices({ podId: [null, 'p', 'q'], inboxId: [null, 'i', 'j'], type: ['a', 'c'] })
  const facts: Facts[] = []
  for (const caller of callers)
    for (const asked of subscriptions) {
      const inboxIds = asked.inboxIds && new Set(asked.inboxIds)
      const types = asked.types && new Set<string>(asked.types)
      const taken = events.filter(event => takesEvent(caller, { inboxIds, types }, event))
      facts.push([
        `${caller.podId} ${caller.inboxId} ${JSON.stringify(asked)}`,
        [
          ...sourcesOf(caller, { inboxIds, types, after: '' }, 'x').map(source => JSON.stringify(source)),
          `takes ${taken.map(({ podId, inboxId, type }) => `${podId}/${inboxId}/${type}`).join(' ')}`,
        ],
      ])
      const isReached = ({ inboxId, podId }: (typeof events)[number]) =>
        reachesInbox(caller, { id: inboxId ?? '', podId: podId ?? '' })
      t.ok(taken.every(isReached), 'none out of reach')
    }
  const { upTo, one } = choicesOf(4)
  const window = createEventWindow('000')
  const steps: string[] = []
  let last = 0
  for (let now = 0; steps.length < 120; now += one([0, 1000, 20_000])) {
    const came: WindowEvent[] = Array.from({ length: upTo(3) }, () => {
      last += 1 + upTo(1)
      const body = one([undefined, Buffer.alloc(10), Buffer.alloc(one([100, 3_000_000]))])
      return { row: { id: String(last).padStart(3, '0') } as EventRow, body }
    })
    window.append(came, now)
    if (upTo(2) === 0) window.dropOld(now)
    const from = String(upTo(last)).padStart(3, '0')
    const found = window
      .after(from < window.start ? window.start : from, 1 + upTo(4))
      .map(({ row }) => row.id)
    steps.push(`${now} ${window.start}-${window.end} after ${from}: ${found}`)
  }
  facts.push(['window', steps])
  facts.push([
    'access',
    lines(choices({ access: ['account', 'pod', 'inbox'], at: [0, 1, 2] } as const), ({ access, at }) =>
      resultOf(() => requireAccess(callers[at]!, access)),
    ),
  ])
  sameFacts(t, 'rules-events', facts)
})

t.test('what a check makes of a domain', async t => {
  const { one, upTo } = choicesOf(5)
  const facts: Facts[] = []
  const start = Date.parse('2026-03-01T00:00:00.000Z')
  for (let history = 1; history <= 24; history++) {
    const at = new Date(start).toISOString()
    let row = {
      ...{
        status: 'pending',
        recordStatuses: '{}',
        warnings: '[]',
        losses: 0,
        verifiedAt: null,
        found: '{}',
      },
      ...{
        createdAt: at,
        updatedAt: at,
        checkedAt: null,
        checkingSince: at,
        checkingUntil: at,
        nextCheckAt: at,
        problem: null,
      },
    } as unknown as DomainRow
    const steps: string[] = []
    let now = start
    for (let step = 0; step < 9; step++) {
      now += one([60_000, 600_000, 3_600_000, 3_600_001, 40_000_000, 86_400_000, 3 * 86_400_000])
      const state = one(['valid', 'valid', 'missing', 'invalid', undefined] as const)
      const odd = one([state, state, 'valid', 'missing', undefined] as const)
      const records = {
        mx: state,
        dkim: odd,
        spf: state,
        'return-path': state,
        dmarc: one(['valid', 'missing'] as const),
      }
      const competingHosts = one([
        undefined,
        [],
        ['mx.a.example'],
        Array.from({ length: 12 }, (_, n) => `mx${n}.a.example`),
      ])
      const changes = changesAfterCheck(
        row,
        { records: records as never, found: { mx: [String(step)] }, competingHosts },
        {
          startedAt: new Date(now - one([0, 5000, 3_000_000])).toISOString(),
          now: new Date(now),
          hostname: 'mail.ours.example',
          isTaken: upTo(11) === 0,
        },
      )
      row = { ...row, ...changes }
      const { status, losses, problem, warnings, recordStatuses, found, ...times } = row
      steps.push(
        `${Object.values(records)} ${competingHosts?.length}: ${status} ${losses} ${problem} ${recordStatuses} ${found}`,
      )
      steps.push(
        `  ${times.verifiedAt} ${times.updatedAt} ${times.checkingSince} ${times.nextCheckAt} ${warnings.length}`,
      )
    }
    facts.push([`${history}`, [...steps, row.warnings]])
  }
  sameFacts(t, 'rules-domains', facts)
})

t.test('periods, waits and refusals', async t => {
  const instants = [
    ...[
      '2026-01-31T23:59:59.999Z',
      '2026-02-28T00:00:00.000Z',
      '2028-02-28T12:00:00.000Z',
      '2026-12-31T23:59:59.000Z',
    ],
    ...['2026-12-01T00:00:00.000Z', '2026-10-25T00:30:00.000Z', '2026-03-29T01:00:00.001Z'],
  ].map(text => new Date(text))
  const facts: Facts[] = []
  facts.push([
    'periods',
    lines(instants, at => [
      utcDay(at),
      utcMonth(at),
      nextDay(at),
      nextMonth(at),
      secondsUntil(nextDay(at), at),
      secondsUntil(at, nextDay(at)),
    ]),
  ])
  facts.push([
    'waits',
    lines(
      choices({ replyClass: [undefined, ...replyClasses], attempts: [1, 7, 8, 9] }),
      ({ replyClass, attempts }) => {
        const outcome = {
          result: 'transient',
          text: '',
          durationMs: 0,
          ...(replyClass && { replyClass }),
        } as const
        return waitBoundsOf(outcome, attempts)
      },
    ),
  ])
  const codes: ProblemCode[] = [
    ...([
      'unauthorized',
      'forbidden',
      'not_found',
      'invalid_request',
      'inbox_suspended',
      'domain_under_review',
    ] as const),
    ...([
      'unverified_domain',
      'recipient_is_sender',
      'recipient_not_permitted',
      'recipient_suppressed',
    ] as const),
    ...(['feature_requires_paid_plan', 'attachments_too_large', 'payload_too_large', 'reply_loop'] as const),
    ...([
      'cold_outreach_limit',
      'rate_limit_exceeded',
      'unavailable',
      'inbox_limit_reached',
      'spend_cap_paused',
    ] as const),
    ...(['too_many_streams', 'draft_sent', 'internal_error', 'webhook_failed', 'upgrade_required'] as const),
  ]
  const errors = [
    ...codes.flatMap(code => [new Problem(code), new Problem(code, 'a\r\nb', { retryAfterSeconds: 30 })]),
    new Problem('forbidden', 'x'.repeat(600), { retryAfterSeconds: 7 }),
    new Problem('forbidden', 'x'.repeat(451)),
    invalidRequest('body/to', 'is wrong'),
    new Error('another'),
  ]
  facts.push([
    'refusals',
    errors.map(error => {
      const said = refusalOf(error)
      if (!(said instanceof Reply)) return `not a reply: ${said}`
      const { code, enhanced, text } = said
      return `${error instanceof Problem ? error.code : ''} ${code} ${enhanced} ${text.length} ${text.slice(0, 90)} ${text.slice(-20)}`
    }),
  ])
  const groups = choices({
    finalRecipient: [undefined, 'bob@there.example', 'eve@there.example'],
    originalRecipient: [undefined, 'bob@there.example'],
    action: ['failed', 'delayed', undefined],
  } as const)
  const told = groups.flatMap(first => [[first], [first, groups[0]!], [groups[3]!, first]])
  facts.push([
    'failures',
    lines(told, said => {
      const failure = failureOf('bob@there.example', said.map(each => ({ ...each, text: '' })) as never)
      return failure === undefined
        ? null
        : [
            failure.isAboutRecipient,
            said.findIndex(each => each.finalRecipient === failure.said.finalRecipient),
          ]
    }),
  ])
  const returned = choices({
    code: [undefined, 550, 552],
    enhanced: [undefined, '5.1.1', '5.2.2'],
    text: ['', 'full'],
    host: [undefined, 'mx.there.example'],
  })
  facts.push(['said', lines(returned, each => outcomeSaid({ ...each, action: 'failed' } as never))])
  sameFacts(t, 'rules-others', facts)
})
