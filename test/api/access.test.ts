import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { leaveEvent } from '../../lib/store/events.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'

/** Who asks, in the order of the columns below; all ask for the same thing, which is `ours`. */
const askers = [
  'no key',
  'wrong key',
  'revoked key',
  'inbox key',
  'key of another inbox of the pod',
  'pod key',
  'key of another pod',
  'account key',
] as const
type Asker = (typeof askers)[number]

type Expected = number | `${number} ${string}`
const missing = '404 not_found'
const refused = '403 forbidden'
const unknown = '401 unauthorized'

/** What the four kinds of scoped key and the account key get; whoever has no key gets 401. */
function keys(
  inbox: Expected,
  otherInbox: Expected,
  pod: Expected,
  otherPod: Expected,
  account: Expected,
): Record<Asker, Expected> {
  return {
    'no key': unknown,
    'wrong key': unknown,
    'revoked key': unknown,
    'inbox key': inbox,
    'key of another inbox of the pod': otherInbox,
    'pod key': pod,
    'key of another pod': otherPod,
    'account key': account,
  }
}

const accountOnly = (success: number) => keys(refused, refused, refused, refused, success)
/** Reads within an inbox, and sending from it. */
const withinInbox = (success: number) => keys(success, missing, success, missing, success)
const ofPod = (success: number) => keys(refused, refused, success, missing, success)
const toAnyKey = (success: Expected) => keys(success, success, success, success, success)
const open = (success: number) =>
  Object.fromEntries(askers.map(asker => [asker, success])) as Record<Asker, Expected>

/** A pod, an inbox in it and what an inbox has, made anew for each call that uses it up. */
interface Subject {
  readonly pod: string
  readonly podKey: string
  readonly emptyPod: string
  readonly inbox: string
  readonly inboxKey: string
  readonly thread: string
  readonly message: string
  readonly draft: string
  /** In the inbox, which has a webhook. */
  readonly event: string
  /** Of the pod. */
  readonly domain: string
  /** A sender rule of the inbox. */
  readonly rule: string
  /** Without its signature. */
  readonly attachment: string
}

interface Row {
  readonly path: (subject: Subject) => string
  readonly body?: object
  readonly expected: Record<Asker, Expected>
}

const table: Record<string, Row> = {
  createPod: { path: () => '/v1/pods', body: {}, expected: accountOnly(201) },
  listPods: { path: () => '/v1/pods', expected: toAnyKey(200) },
  getPod: { path: ({ pod }) => `/v1/pods/${pod}`, expected: keys(200, 200, 200, missing, 200) },
  updatePod: { path: ({ pod }) => `/v1/pods/${pod}`, body: { name: 'n' }, expected: accountOnly(200) },
  deletePod: { path: ({ emptyPod }) => `/v1/pods/${emptyPod}`, expected: accountOnly(204) },
  createPodApiKey: { path: ({ pod }) => `/v1/pods/${pod}/api-keys`, body: {}, expected: accountOnly(201) },
  listPodApiKeys: { path: ({ pod }) => `/v1/pods/${pod}/api-keys`, expected: accountOnly(200) },
  revokePodApiKey: {
    path: ({ pod, podKey }) => `/v1/pods/${pod}/api-keys/${podKey}`,
    expected: accountOnly(204),
  },
  createInbox: { path: () => '/v1/inboxes', body: {}, expected: keys(refused, refused, 201, 201, 201) },
  listInboxes: { path: () => '/v1/inboxes', expected: toAnyKey(200) },
  getInbox: { path: ({ inbox }) => `/v1/inboxes/${inbox}`, expected: withinInbox(200) },
  updateInbox: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}`,
    body: { displayName: 'n' },
    expected: ofPod(200),
  },
  // The specification names it: another pod's inbox is refused here, and not hidden.
  deleteInbox: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}`,
    expected: keys(refused, refused, 204, refused, 204),
  },
  createInboxApiKey: { path: ({ inbox }) => `/v1/inboxes/${inbox}/api-keys`, body: {}, expected: ofPod(201) },
  listInboxApiKeys: { path: ({ inbox }) => `/v1/inboxes/${inbox}/api-keys`, expected: ofPod(200) },
  revokeInboxApiKey: {
    path: ({ inbox, inboxKey }) => `/v1/inboxes/${inbox}/api-keys/${inboxKey}`,
    expected: ofPod(204),
  },
  sendMessage: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}/send`,
    body: { to: 'bob@example.net', subject: 's', body: 'b' },
    expected: withinInbox(200),
  },
  replyToMessage: {
    path: ({ message }) => `/v1/messages/${message}/reply`,
    body: { to: 'bob@example.net', body: 'b' },
    expected: withinInbox(200),
  },
  replyAllToMessage: {
    path: ({ message }) => `/v1/messages/${message}/reply-all`,
    body: { to: 'bob@example.net', body: 'b' },
    expected: withinInbox(200),
  },
  forwardMessage: {
    path: ({ message }) => `/v1/messages/${message}/forward`,
    body: { to: 'bob@example.net' },
    expected: withinInbox(200),
  },
  listInboxMessages: { path: ({ inbox }) => `/v1/inboxes/${inbox}/messages`, expected: withinInbox(200) },
  waitForMessages: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}/messages/wait?timeout=0`,
    expected: withinInbox(200),
  },
  listMessages: { path: () => '/v1/messages', expected: toAnyKey(200) },
  listAllThreads: { path: () => '/v1/threads', expected: toAnyKey(200) },
  getMessage: { path: ({ message }) => `/v1/messages/${message}`, expected: withinInbox(200) },
  getRawMessage: { path: ({ message }) => `/v1/messages/${message}/raw`, expected: withinInbox(200) },
  listMessageDeliveries: {
    path: ({ message }) => `/v1/messages/${message}/deliveries`,
    expected: withinInbox(200),
  },
  downloadAttachmentByName: {
    path: ({ message }) => `/v1/attachments/${message}/a.txt`,
    expected: withinInbox(200),
  },
  getAttachmentText: {
    path: ({ message }) => `/v1/attachments/${message}/a.txt/text`,
    expected: withinInbox(200),
  },
  downloadAttachment: { path: ({ attachment }) => attachment, expected: withinInbox(200) },
  listThreads: { path: ({ inbox }) => `/v1/inboxes/${inbox}/threads`, expected: withinInbox(200) },
  getThread: { path: ({ thread }) => `/v1/threads/${thread}`, expected: withinInbox(200) },
  getThreadMessages: { path: ({ thread }) => `/v1/threads/${thread}/messages`, expected: withinInbox(200) },
  updateThread: {
    path: ({ thread }) => `/v1/threads/${thread}`,
    body: { is_read: false },
    expected: withinInbox(200),
  },
  deleteMessage: { path: ({ message }) => `/v1/messages/${message}`, expected: ofPod(204) },
  deleteThread: { path: ({ thread }) => `/v1/threads/${thread}`, expected: ofPod(204) },
  createDraft: { path: ({ inbox }) => `/v1/inboxes/${inbox}/drafts`, body: {}, expected: withinInbox(201) },
  listDrafts: { path: ({ inbox }) => `/v1/inboxes/${inbox}/drafts`, expected: withinInbox(200) },
  getDraft: { path: ({ draft }) => `/v1/drafts/${draft}`, expected: withinInbox(200) },
  updateDraft: {
    path: ({ draft }) => `/v1/drafts/${draft}`,
    body: { subject: 's' },
    expected: withinInbox(200),
  },
  deleteDraft: { path: ({ draft }) => `/v1/drafts/${draft}`, expected: withinInbox(204) },
  // The same one for the inbox key, the pod key and the account key.
  sendDraft: {
    path: ({ draft }) => `/v1/drafts/${draft}/send`,
    expected: keys(200, missing, '409 draft_sent', missing, '409 draft_sent'),
  },
  listEvents: { path: ({ inbox }) => `/v1/events?inboxId=${inbox}`, expected: withinInbox(200) },
  streamEvents: { path: ({ inbox }) => `/v1/events/stream?inboxId=${inbox}`, expected: withinInbox(200) },
  // What a WebSocket client gets is in test/http/websocket.test.ts.
  openWebSocket: {
    path: () => '/v1/ws',
    expected: toAnyKey('426 upgrade_required'),
  },
  listEventDeliveries: { path: ({ event }) => `/v1/events/${event}/deliveries`, expected: ofPod(200) },
  redeliverEvent: { path: ({ event }) => `/v1/events/${event}/redeliver`, expected: ofPod(200) },
  rotateInboxWebhookSecret: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}/webhook/rotate-secret`,
    expected: accountOnly(200),
  },
  // No DNS answers here.
  testInboxWebhook: {
    path: ({ inbox }) => `/v1/inboxes/${inbox}/webhook/test`,
    expected: keys(refused, refused, refused, refused, '502 webhook_failed'),
  },
  getWebhook: { path: () => '/v1/webhook', expected: accountOnly(200) },
  setWebhook: {
    path: () => '/v1/webhook',
    body: { url: 'https://hooks.example.net/' },
    expected: accountOnly(200),
  },
  rotateWebhookSecret: {
    path: () => '/v1/webhook/rotate-secret',
    expected: keys(refused, refused, refused, refused, '400 no_webhook_url'),
  },
  deleteWebhook: { path: () => '/v1/webhook', expected: accountOnly(204) },
  // The same one for both pods and for the account: nobody has verified it.
  createDomain: {
    path: () => '/v1/domains',
    body: { domain: 'theirs.example' },
    expected: keys(refused, refused, 201, 201, 201),
  },
  listDomains: { path: () => '/v1/domains', expected: keys(refused, refused, 200, 200, 200) },
  getDomain: { path: ({ domain }) => `/v1/domains/${domain}`, expected: ofPod(200) },
  verifyDomain: { path: ({ domain }) => `/v1/domains/${domain}/verify`, expected: ofPod(200) },
  updateDomain: {
    path: ({ domain }) => `/v1/domains/${domain}`,
    body: { podId: null },
    expected: accountOnly(200),
  },
  deleteDomain: { path: ({ domain }) => `/v1/domains/${domain}`, expected: ofPod(204) },
  getPolicy: { path: ({ pod }) => `/v1/policy?podId=${pod}`, expected: ofPod(200) },
  replacePolicy: {
    path: ({ inbox }) => `/v1/policy?inboxId=${inbox}`,
    body: { inbound: { mode: 'inherit', rules: [] } },
    // Of the level of its own kind of key alone.
    expected: keys(refused, refused, 200, missing, 200),
  },
  setPolicyMode: {
    path: ({ pod }) => `/v1/policy/mode?podId=${pod}`,
    body: { mode: 'inherit', direction: 'outbound' },
    expected: ofPod(200),
  },
  createPolicyRule: {
    path: ({ inbox }) => `/v1/policy/rules?inboxId=${inbox}`,
    body: { type: 'block', value: 'example.org', direction: 'inbound' },
    // The same rule on the level of the pod key and on that of the account key.
    expected: keys(refused, refused, 201, missing, 201),
  },
  deletePolicyRule: {
    path: ({ rule }) => `/v1/policy/rules/${rule}`,
    // An account key made it.
    expected: keys(refused, refused, '403 inherited_rule', missing, 204),
  },
  listPolicyAudit: { path: ({ inbox }) => `/v1/policy/audit?inboxId=${inbox}`, expected: ofPod(200) },
  listQueue: { path: () => '/v1/queue', expected: accountOnly(200) },
  explainQueued: {
    path: () => '/v1/queue/019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18',
    expected: keys(refused, refused, refused, refused, missing),
  },
  retryQueued: { path: () => '/v1/queue/retry', body: {}, expected: accountOnly(200) },
  holdQueued: { path: () => '/v1/queue/hold', body: { domain: 'one.example' }, expected: accountOnly(200) },
  releaseQueued: {
    path: () => '/v1/queue/release',
    body: { domain: 'one.example' },
    expected: accountOnly(200),
  },
  cancelQueued: {
    path: () => '/v1/queue/cancel',
    body: { domain: 'one.example' },
    expected: accountOnly(200),
  },
  listQueueHolds: { path: () => '/v1/queue-holds', expected: accountOnly(200) },
  listSuppressions: { path: () => '/v1/suppressions', expected: accountOnly(200) },
  createSuppression: {
    path: () => '/v1/suppressions',
    body: { recipient: 'gone@example.org' },
    expected: accountOnly(201),
  },
  deleteSuppression: {
    path: () => '/v1/suppressions?recipient=gone@example.org',
    expected: accountOnly(204),
  },
  listMembers: { path: () => '/v1/members', expected: accountOnly(200) },
  createMember: {
    path: () => '/v1/members',
    body: { address: 'ann@example.org' },
    expected: accountOnly(201),
  },
  deleteMember: { path: () => '/v1/members/ann@example.org', expected: accountOnly(204) },
  getMe: { path: () => '/v1/me', expected: toAnyKey(200) },
  getUsage: { path: ({ inbox }) => `/v1/usage?inboxId=${inbox}`, expected: withinInbox(200) },
  createFeedback: {
    path: () => '/v1/feedback',
    body: { type: 'bug', message: 'm' },
    expected: toAnyKey(201),
  },
  getHealth: { path: () => '/health', expected: open(200) },
  getOpenApi: { path: () => '/v1/openapi.json', expected: open(200) },
}

/** @param hasDomain a domain has a key of its own, which takes its time to make */
async function makeSubject({ api, app }: ApiApp, pod: string, hasDomain: boolean): Promise<Subject> {
  const { id: inbox } = (
    await api.post('/v1/inboxes', { podId: pod, webhookUrl: 'https://hooks.example.net/' })
  ).body
  const subject = { podId: pod, inboxId: inbox, threadId: null, messageId: null }
  const event = {
    ...{ id: app.ids.next(), type: 'message.received', ...subject, payload: '{}' },
    createdAt: app.clock.now().toISOString(),
  }
  await app.store.write(async db => leaveEvent(db, event))
  const sent = (
    await api.send(inbox, {
      to: 'bob@example.net',
      subject: 's',
      body: 'b',
      attachments: [{ filename: 'a.txt', content: 'YQ==' }],
    })
  ).body
  return {
    pod,
    podKey: (await api.post(`/v1/pods/${pod}/api-keys`, {})).body.id,
    emptyPod: (await api.post('/v1/pods', {})).body.id,
    inbox,
    inboxKey: (await api.post(`/v1/inboxes/${inbox}/api-keys`, {})).body.id,
    thread: sent.threadId,
    event: event.id,
    domain: hasDomain
      ? (await api.post('/v1/domains', { domain: `${inbox}.example`, podId: pod })).body.id
      : '',
    message: sent.messageId,
    draft: (await api.post(`/v1/inboxes/${inbox}/drafts`, { to: 'bob@example.net', subject: 's', body: 'b' }))
      .body.id,
    rule: (
      await api.post(`/v1/policy/rules?inboxId=${inbox}`, {
        type: 'block',
        value: 'example.com',
        direction: 'inbound',
      })
    ).body.id,
    attachment: `/v1/attachments/${sent.messageId}/0/a.txt`,
  }
}

t.test('every operation, by every kind of key', async t => {
  const server = await startApi(t, { toml: '[limits]\ninbox_creations_per_day = 0' })
  const { api, app, apiWith } = server
  const other = (await api.post('/v1/pods', {})).body.id
  const otherPodToken = (await api.post(`/v1/pods/${other}/api-keys`, {})).body.token
  t.strictSame(Object.keys(table).sort(), operations.map(one => one.id).sort(), 'the table is complete')

  const makePod = async (hasDomain: boolean) => {
    const pod = (await api.post('/v1/pods', {})).body.id
    const podToken = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body.token
    const sibling = (await api.post('/v1/inboxes', { podId: pod })).body.id
    const siblingToken = (await api.post(`/v1/inboxes/${sibling}/api-keys`, {})).body.token
    const revoked = await createKey(app, operator, { pod }, null)
    await api.delete(`/v1/pods/${pod}/api-keys/${revoked.id}`)
    return { pod, podToken, siblingToken, revoked, stays: await makeSubject(server, pod, hasDomain) }
  }
  // Who only reads leaves all as it is.
  const read = new Map([
    [true, await makePod(true)],
    [false, await makePod(false)],
  ])
  for (const one of operations) {
    const { path, body, expected } = table[one.id]!
    const hasDomain = one.tag === 'Domains'
    const { pod, podToken, siblingToken, revoked, stays } =
      one.method === 'get' ? read.get(hasDomain)! : await makePod(hasDomain)
    const got: Partial<Record<Asker, Expected>> = {}
    for (const asker of askers) {
      // What is used up must be there for the next one.
      const success = typeof expected[asker] === 'number'
      const subject = success && one.method === 'delete' ? await makeSubject(server, pod, hasDomain) : stays
      const inboxToken = await createKey(app, operator, { inbox: subject.inbox }, null)
      const token = {
        'no key': undefined,
        'wrong key': 'mbx_wrong',
        'revoked key': revoked.token,
        'inbox key': inboxToken.token,
        'key of another inbox of the pod': siblingToken,
        'pod key': podToken,
        'key of another pod': otherPodToken,
        'account key': server.token,
      }[asker]
      const answer = await apiWith(token).call(
        one.method.toUpperCase(),
        path(subject),
        body,
        'Idempotency-Key' in (one.headers ?? {}) ? { 'idempotency-key': `${one.id} ${asker}` } : {},
      )
      got[asker] = answer.status < 400 ? answer.status : `${answer.status} ${answer.body.error}`
      if (answer.status === 401) t.equal(answer.headers.get('www-authenticate'), 'Bearer', 'says how')
      await api.delete(`/v1/inboxes/${subject.inbox}/api-keys/${inboxToken.id}`)
    }
    t.strictSame(got, expected, one.id)
    server.clock.advance(60_000)
  }
  t.strictSame(server.faults, [])
})

t.test('what is not there looks the same as what is out of reach', async t => {
  const server = await startApi(t)
  const { api, apiWith } = server
  const [mine, theirs] = [
    (await api.post('/v1/pods', { clientId: 'mine' })).body.id,
    (await api.post('/v1/pods', { clientId: 'theirs' })).body.id,
  ]
  const subject = await makeSubject(server, theirs, true)
  const podApi = apiWith((await api.post(`/v1/pods/${mine}/api-keys`, {})).body.token)
  const own = (await api.post('/v1/inboxes', { podId: mine })).body
  const inboxApi = apiWith((await api.post(`/v1/inboxes/${own.id}/api-keys`, {})).body.token)
  const nothing = '01890000-0000-7000-8000-000000000000'
  for (const narrow of [podApi, inboxApi]) {
    for (const [foreign, absent] of [
      [`/v1/pods/${theirs}`, `/v1/pods/${nothing}`],
      ['/v1/pods/theirs', '/v1/pods/nobodys'],
      [`/v1/inboxes/${subject.inbox}`, `/v1/inboxes/${nothing}`],
      [`/v1/inboxes/${subject.inbox}/threads`, `/v1/inboxes/${nothing}/threads`],
      [`/v1/inboxes/${subject.inbox}/messages`, `/v1/inboxes/${nothing}/messages`],
      [`/v1/threads/${subject.thread}`, `/v1/threads/${nothing}`],
      [`/v1/messages/${subject.message}`, `/v1/messages/${nothing}`],
      [`/v1/messages/${subject.message}/raw`, `/v1/messages/${nothing}/raw`],
      [subject.attachment, `/v1/attachments/${nothing}/0/a.txt`],
      [`/v1/attachments/${subject.message}/a.txt`, `/v1/attachments/${nothing}/a.txt`],
      [`/v1/attachments/${subject.message}/a.txt/text`, `/v1/attachments/${nothing}/a.txt/text`],
      [`/v1/domains/${subject.domain}`, `/v1/domains/${nothing}`],
      [`/v1/events/${subject.event}/deliveries`, `/v1/events/${nothing}/deliveries`],
      ['/v1/inboxes?podId=theirs', '/v1/inboxes?podId=nobodys'],
      [`/v1/inboxes?podId=${theirs}`, `/v1/inboxes?podId=${nothing}`],
    ] as const) {
      const [a, b] = [await narrow.get(foreign), await narrow.get(absent)]
      t.strictSame([a.status, a.body], [b.status, b.body], foreign)
    }
    t.strictSame(
      (await narrow.get('/v1/pods')).body.data.map((pod: { id: string }) => pod.id),
      [mine],
    )
    t.strictSame(
      (await narrow.get('/v1/inboxes')).body.data.map((inbox: { id: string }) => inbox.id),
      [own.id],
    )
    t.equal((await narrow.get('/v1/inboxes?offset=1')).body.data.length, 0)
    t.equal((await narrow.get('/v1/inboxes?limit=0')).body.total, 1)
    t.equal((await narrow.get('/v1/inboxes?podId=mine')).body.total, 1)
  }
  const [foreign, absent] = [
    await podApi.post('/v1/inboxes', { podId: 'theirs' }),
    await podApi.post('/v1/inboxes', { podId: 'nobodys' }),
  ]
  t.strictSame([foreign.status, foreign.body], [absent.status, absent.body])
  t.equal(foreign.body.error, 'invalid_pod')
  t.equal((await podApi.post('/v1/inboxes', {})).body.podId, mine, 'a pod key makes inboxes in its pod')
  const keyOfTheirs = await podApi.delete(`/v1/inboxes/${own.id}/api-keys/${subject.inboxKey}`)
  t.equal(keyOfTheirs.body.error, 'not_found')
  const threadOfTheirs = await inboxApi.send(own.id, {
    to: 'b@example.net',
    body: 'x',
    threadId: subject.thread,
  })
  const noThread = await inboxApi.send(own.id, { to: 'b@example.net', body: 'x', threadId: nothing })
  t.strictSame([threadOfTheirs.status, threadOfTheirs.body], [noThread.status, noThread.body])
})
