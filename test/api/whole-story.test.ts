import t from 'tap'
import type { Clock } from '../../lib/base/time.ts'
import { startPeer } from '../courier/smtp/scripted-peer.ts'
import { apiOf } from '../support/api.ts'
import { openBothDoors } from '../support/both-doors.ts'
import { carryAll } from '../support/carry-all.ts'
import { startDns } from '../support/dns.ts'
import { type Facts, sameFacts } from '../support/kept-facts.ts'
import { namedRows, namedWith, namesOfChance } from '../support/names-of-chance.ts'
import { freePort } from '../support/ports.ts'

t.test('a story of everything, with whole answers, and all rows at its end', async t => {
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
      return /nobody/.test(to)
        ? '550 5.1.1 no such user'
        : /full/.test(to)
          ? '452 4.2.2 mailbox full'
          : '250 2.1.5 ok'
    },
  })
  t.teardown(() => peer.close())
  let ahead = 0
  const clock: Clock = {
    now: () => new Date(Date.parse('2026-11-03T08:00:00Z') + ahead),
    monotonicMs: () => 1e6 + ahead,
  }
  const doors = await openBothDoors(t, {
    clock,
    dns: dns.server,
    mxPort,
    random: () => 0.5,
    toml: '[delivery]\nmode = "mx"\n[http]\nrequests_per_minute = 100000\n',
  })
  const { app, api, baseUrl } = doors
  const names = namesOfChance()
  const shown = (value: unknown) => namedWith(names, value)
  const facts: Facts[] = []
  const ask = async (
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
    by = api,
  ) => {
    ahead += 1000
    const answer = await by.call(method, path, body, headers)
    const told = Object.fromEntries(
      [...answer.headers].filter(
        ([name]) => !/^(?:date|connection|keep-alive|content-length|etag)$/.test(name),
      ),
    )
    const said = answer.body ?? answer.bytes.toString('utf8')
    const asked = body === undefined ? '' : ` ${JSON.stringify(body)}`
    const title = names(`${facts.length + 1}. ${method} ${path}${asked}`).slice(0, 220)
    facts.push([title, { status: answer.status, headers: shown(told), body: shown(said) }])
    return answer.body
  }
  const send = (id: string, key: string, body: object) =>
    ask('POST', `/v1/inboxes/${id}/send`, body, { 'idempotency-key': key })

  // Inboxes, pods, keys.
  await ask('GET', '/v1/me')
  const ann = await ask('POST', '/v1/inboxes', { mailboxName: 'ann', displayName: 'Ann Lee' })
  await ask('POST', '/v1/inboxes', { mailboxName: 'ann' })
  await ask('POST', '/v1/inboxes', { mailboxName: 'no space' })
  await ask('POST', '/v1/inboxes', { mailboxName: 'bea', clientId: 'mine' })
  const bea = await ask('POST', '/v1/inboxes', { mailboxName: 'bea', clientId: 'mine' })
  await ask('POST', '/v1/inboxes', { mailboxName: 'postmaster' })
  const pod = await ask('POST', '/v1/pods', { name: 'One', clientId: 'p' })
  const inPod = await ask('POST', '/v1/inboxes', { mailboxName: 'carl', podId: pod.id })
  const podKey = await ask('POST', `/v1/pods/${pod.id}/api-keys`, { name: 'pod key' })
  const inboxKey = await ask('POST', `/v1/inboxes/${ann.id}/api-keys`, { name: 'inbox key' })
  const byPod = apiOf(baseUrl, podKey.token ?? podKey.key)
  const byInbox = apiOf(baseUrl, inboxKey.token ?? inboxKey.key)
  for (const by of [byPod, byInbox]) {
    for (const path of [
      '/v1/me',
      '/v1/inboxes',
      `/v1/inboxes/${bea.id}`,
      '/v1/pods',
      '/v1/policy',
      '/v1/usage',
      '/v1/members',
      '/v1/webhook',
      '/v1/queue',
    ])
      await ask('GET', path, undefined, {}, by)
    await ask('POST', '/v1/inboxes', { mailboxName: 'dora' }, {}, by)
  }
  await ask('PATCH', `/v1/inboxes/${ann.id}`, { displayName: 'Ann' })
  await ask('PATCH', `/v1/inboxes/${ann.id}`, {})
  await ask('PATCH', `/v1/inboxes/${ann.id}`, { unknown: 1 })
  await ask('PATCH', `/v1/pods/${pod.id}`, { name: 'Two' })
  await ask('DELETE', `/v1/pods/${pod.id}`)
  for (const path of [
    '/v1/inboxes',
    '/v1/inboxes?limit=1',
    '/v1/inboxes?limit=1&offset=1',
    '/v1/inboxes?limit=0',
    '/v1/inboxes?x=1',
    '/v1/pods',
    `/v1/pods/${pod.id}`,
    `/v1/inboxes/${ann.id}/api-keys`,
    '/v1/inboxes/nothing',
  ])
    await ask('GET', path)

  // Mail in.
  const letters = [
    'From: Bob <bob@there.example>\nTo: ann@ours.example\nSubject: Plan\nMessage-ID: <1@there.example>\n\nHello Ann\n',
    'From: Bob <bob@there.example>\nTo: ann@ours.example\nSubject: Re: Plan\nMessage-ID: <2@there.example>\nIn-Reply-To: <1@there.example>\n\nAre you there?\n\n> Hello Ann\n',
    'From: Shop <no-reply@shop.example>\nSubject: Your code\n\nYour code is 482913.\n',
    'From: eve@there.example\nSubject: File\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/html\n\n<p>See <a href="https://example.com/x">it</a></p>\n--b\nContent-Type: text/plain; name=a.txt\nContent-Disposition: attachment; filename=a.txt\n\ncontent\n--b--\n',
  ]
  for (const letter of letters) {
    ahead += 1000
    await doors.receive('ann', letter)
  }
  const { data: messages } = await ask('GET', `/v1/inboxes/${ann.id}/messages`)
  const newest = messages[0]
  const eldest = messages.at(-1)
  for (const path of [
    '/v1/messages',
    '/v1/messages?category=personal',
    '/v1/messages?q=hello',
    '/v1/messages?from=bob@there.example&limit=1',

    '/v1/messages?q=',
    `/v1/inboxes/${ann.id}/threads`,
    '/v1/threads',
    `/v1/threads/${eldest.threadId}`,
    `/v1/threads/${eldest.threadId}/messages`,
  ])
    await ask('GET', path)
  for (const { id } of messages) await ask('GET', `/v1/messages/${id}`)
  await ask('GET', `/v1/messages/${eldest.id}/raw`)
  await ask('GET', `/v1/messages/${eldest.id}/raw?trace=true`)
  await ask('GET', `/v1/attachments/${newest.id}/a.txt`)
  await ask('GET', `/v1/attachments/${newest.id}/a.txt/text`)
  await ask('GET', `/v1/attachments/${newest.id}/b.txt`)
  await ask('PATCH', `/v1/messages/${eldest.id}`, { isRead: true })
  await ask('GET', `/v1/inboxes/${ann.id}/messages/wait?timeout=0`)

  // Mail out.
  await send(ann.id, 'k1', {
    to: 'kim@there.example',
    subject: 'Hello',
    body: 'Text',
    cc: ['Eve <eve@there.example>'],
  })
  await send(ann.id, 'k1', {
    to: 'kim@there.example',
    subject: 'Hello',
    body: 'Text',
    cc: ['Eve <eve@there.example>'],
  })
  await send(ann.id, 'k1', { to: 'kim@there.example', subject: 'Other', body: 'Text' })
  await send(ann.id, 'k2', { to: 'nobody@there.example', subject: 's', body: 'b' })
  await send(ann.id, 'k3', { to: 'full@there.example', subject: 's', body: 'b' })
  await send(ann.id, 'k4', { to: 'x@none.example', subject: 's', body: 'b' })
  await send(ann.id, 'k5', {
    to: 'bea@ours.example',
    subject: 's',
    body: 'b',
    bodyHtml: '<p>b</p>',
    attachments: [{ filename: 'a.txt', content: 'aGk=' }],
  })
  await send(ann.id, 'k6', { to: 'nonsense', subject: 's', body: 'b' })
  await send(ann.id, 'k7', { subject: 's', body: 'b' })
  await send(ann.id, '', { to: 'kim@there.example', subject: 's', body: 'b' })
  await ask('POST', `/v1/messages/${eldest.id}/reply`, { body: 'Yes' }, { 'idempotency-key': 'r1' })
  await ask('POST', `/v1/messages/${eldest.id}/reply-all`, { body: 'All' }, { 'idempotency-key': 'r2' })
  await ask(
    'POST',
    `/v1/messages/${newest.id}/forward`,
    { to: 'kim@there.example', body: 'See' },
    { 'idempotency-key': 'r3' },
  )
  await carryAll(app)
  await send(ann.id, 'k8', { to: 'nobody@there.example', subject: 's', body: 'b' })
  const { data: all } = await ask('GET', `/v1/inboxes/${ann.id}/messages?direction=outbound`)
  for (const { id } of all) await ask('GET', `/v1/messages/${id}/deliveries`)
  for (const path of [
    '/v1/queue',
    '/v1/queue?state=waiting',
    '/v1/queue-holds',
    '/v1/suppressions',
    '/v1/usage',
  ])
    await ask('GET', path)
  await ask('DELETE', '/v1/suppressions?recipient=nobody@there.example')
  await ask('POST', '/v1/suppressions', { recipient: 'stop@there.example' })

  // Drafts, rules, webhooks, members, domains, events.
  const draft = await ask('POST', `/v1/inboxes/${ann.id}/drafts`, {
    to: 'kim@there.example',
    subject: 'Draft',
  })
  await ask('PATCH', `/v1/drafts/${draft.id}`, { body: 'Text', sendAt: '2026-11-04T08:00:00Z' })
  await ask('GET', `/v1/drafts/${draft.id}`)
  await ask('GET', `/v1/inboxes/${ann.id}/drafts`)
  await ask('POST', `/v1/drafts/${draft.id}/send`, undefined, { 'idempotency-key': 'd2' })
  await ask('DELETE', `/v1/drafts/${draft.id}`)
  const rule = await ask('POST', '/v1/policy/rules', {
    direction: 'inbound',
    type: 'block',
    value: '*.Spam.example',
  })
  await ask('POST', '/v1/policy/rules', { direction: 'inbound', type: 'block', value: '*.spam.example' })
  await ask('POST', '/v1/policy/rules', {
    direction: 'outbound',
    type: 'allow',
    value: 'nonsense here',
  })
  await ask('PUT', `/v1/policy/mode?inboxId=${ann.id}`, { direction: 'outbound', mode: 'allowlist' })
  await send(ann.id, 'k9', { to: 'kim@there.example', subject: 's', body: 'b' })
  await ask('GET', `/v1/policy?inboxId=${ann.id}`)
  await ask('PUT', `/v1/policy?inboxId=${ann.id}`, {
    outbound: { mode: 'allowlist', rules: [{ type: 'allow', value: 'there.example' }] },
  })
  await send(ann.id, 'k10', { to: 'kim@there.example', subject: 's', body: 'b' })
  await ask('DELETE', `/v1/policy/rules/${rule.id}`)
  await ask('DELETE', `/v1/policy/rules/${rule.id}`)
  await ask('GET', '/v1/policy/audit')
  await ask('PATCH', `/v1/inboxes/${ann.id}`, { webhookUrl: 'https://there.example/hook' })
  await ask('PATCH', `/v1/inboxes/${ann.id}`, { webhookUrl: 'http://10.0.0.1/' })
  await ask('POST', `/v1/inboxes/${ann.id}/webhook/rotate-secret`)
  await ask('GET', '/v1/webhook')
  await ask('POST', '/v1/members', { address: 'Owner@there.example', name: 'Owner' })
  await ask('POST', '/v1/members', { address: 'owner@there.example' })
  await ask('DELETE', '/v1/members/owner@there.example')
  const domain = await ask('POST', '/v1/domains', { domain: 'mail.there.example' })
  await ask('POST', '/v1/domains', { domain: 'com' })
  await ask('GET', '/v1/domains')
  await ask('DELETE', `/v1/domains/${domain.id}`)
  await ask('POST', '/v1/feedback', { type: 'bug', message: 'It is', context: { at: 1 } })
  await ask('POST', '/v1/feedback', {})
  const { data: events } = await ask('GET', '/v1/events?limit=100')
  await ask('GET', `/v1/events/${events[0].event_id}/deliveries`)
  await ask('GET', '/v1/events?type=message.bounced')
  await ask('GET', '/v1/events?type=nothing')

  // Refusals of the door itself.
  await ask('GET', '/v1/me', undefined, {}, apiOf(baseUrl, undefined))
  await ask('GET', '/v1/me', undefined, {}, apiOf(baseUrl, 'wrong'))
  await ask('GET', '/v1/nothing')
  await ask('PUT', '/v1/me')
  await ask('OPTIONS', '/v1/inboxes', undefined, {
    origin: 'https://app.example',
    'access-control-request-method': 'POST',
  })
  await ask('POST', '/v1/inboxes', '{')
  await ask('POST', '/v1/inboxes', '[]')
  await ask('POST', '/v1/inboxes', '"x"')
  await ask('POST', '/v1/inboxes', 'x=1', { 'content-type': 'text/plain' })
  await ask('POST', '/v1/inboxes', `${'['.repeat(200)}`)
  await ask('GET', '/health')
  await ask('HEAD', '/health')

  // The end of it.
  await ask('DELETE', `/v1/messages/${newest.id}`)
  await ask('DELETE', `/v1/threads/${eldest.threadId}`)
  await ask('DELETE', `/v1/inboxes/${ann.id}/api-keys/${inboxKey.id}`)
  await ask('GET', '/v1/me', undefined, {}, byInbox)
  await ask('DELETE', `/v1/inboxes/${inPod.id}`)
  await ask('GET', `/v1/inboxes/${inPod.id}`)
  sameFacts(t, 'story', facts)

  const rows: Facts[] = (await namedRows(app.store.read, names)).map(([name, lines]) => [
    name,
    lines.map(line => JSON.parse(line) as unknown),
  ])
  rows.push(['what went out', peer.messages.map(message => names(message).split('\r\n')).sort()])
  rows.push([
    'what the other server was told',
    names(
      peer.commands
        .filter(one => /^(?:MAIL|RCPT) /.test(one))
        .sort()
        .join('\n'),
    ).split('\n'),
  ])
  sameFacts(t, 'story-rows', rows)
})
