import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { exampleOf } from '../../lib/api/example.ts'
import { operations } from '../../lib/api/index.ts'
import { openApiDocument } from '../../lib/api/openapi.ts'
import type { Operation } from '../../lib/api/operation.ts'
import { pages } from '../../lib/http/pages.ts'
import type { Answer } from '../support/api.ts'
import { type ApiApp, startApi } from '../support/api-app.ts'
import {
  type ArbitraryRequest,
  type Asker,
  type Place,
  type RealThing,
  requestsOf,
} from '../support/arbitrary-request.ts'
import { nastyText } from '../support/arbitrary-value.ts'
import { createContract } from '../support/contract.ts'
import { type RawRequest, sendRaw } from '../support/raw-http.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/** The same requests each time, unless these say otherwise: more of them, or others. */
const seed = Number(process.env.MAILBOXD_PROPERTY_SEED ?? 20261121)
const requestsEach = Number(process.env.MAILBOXD_PROPERTY_RUNS ?? 30)

interface Subject extends Readonly<Record<RealThing, string>> {
  readonly keys: Readonly<Record<Asker, string | undefined>>
}

/** One of everything that a request can name, in a pod of its own. */
async function makeSubject({ api, token }: ApiApp, hook: string, withDomain: boolean): Promise<Subject> {
  // Requests may have forbidden all mail, or that to an address.
  const open = { mode: 'none', rules: [] }
  await api.call('PUT', '/v1/policy', { inbound: open, outbound: open })
  const clientId = `client-${randomUUID()}`
  const pod = (await api.post('/v1/pods', { clientId })).body.id
  await api.call('PUT', '/v1/webhook', { url: hook })
  const inbox = (await api.post('/v1/inboxes', { podId: pod, webhookUrl: hook })).body.id
  await api.post(`/v1/inboxes/${inbox}/webhook/test`)
  const podKey = (await api.post(`/v1/pods/${pod}/api-keys`, {})).body
  const inboxKey = (await api.post(`/v1/inboxes/${inbox}/api-keys`, {})).body
  const file = { filename: 'a.txt', content: 'YQ==' }
  const letter = { to: `${randomUUID()}@example.net`, subject: 's', body: 'b', attachments: [file] }
  const sent = (await api.send(inbox, letter)).body
  const domain = withDomain
    ? (await api.post('/v1/domains', { domain: `${randomUUID()}.example`, podId: pod })).body.id
    : randomUUID()
  const rule = { type: 'block', value: 'evil.example', direction: 'inbound' }
  return {
    pod,
    clientId,
    emptyPod: (await api.post('/v1/pods', {})).body.id,
    inbox,
    podKey: podKey.id,
    inboxKey: inboxKey.id,
    thread: sent.threadId,
    message: sent.messageId,
    delivery: (await api.get(`/v1/messages/${sent.messageId}/deliveries`)).body.data[0].id,
    draft: (await api.post(`/v1/inboxes/${inbox}/drafts`, letter)).body.id,
    domain,
    event: (await api.get(`/v1/events?inboxId=${inbox}`)).body.data[0].event_id,
    rule: (await api.post(`/v1/policy/rules?inboxId=${inbox}`, rule)).body.id,
    keys: { account: token, pod: podKey.token, inbox: inboxKey.token, wrong: 'mbx_wrong', none: undefined },
  }
}

/** What the parameters of a path are when they are right, by the segment before each. */
const real: Readonly<Record<string, Place>> = {
  'pods/{id}': { real: 'pod' },
  'inboxes/{id}': { real: 'inbox' },
  'messages/{id}': { real: 'message' },
  'threads/{id}': { real: 'thread' },
  'drafts/{id}': { real: 'draft' },
  'events/{id}': { real: 'event' },
  'domains/{id}': { real: 'domain' },
  'rules/{id}': { real: 'rule' },
  'queue/{id}': { real: 'delivery' },
  'attachments/{messageId}': { real: 'message' },
  'members/{address}': { text: 'ann@example.com' },
  '{messageId}/{index}': { text: '0' },
  '{index}/{filename}': { text: 'a.txt' },
  '{messageId}/{filename}': { text: 'a.txt' },
}

function rightParams(one: Operation): Place[] {
  const segments = one.path.split('/')
  return segments.flatMap((segment, at) => {
    if (!segment.startsWith('{')) return []
    if (segment === '{keyId}') return { real: one.path.includes('/pods/') ? 'podKey' : 'inboxKey' } as const
    const place = real[`${segments[at - 1]}/${segment}`]
    if (!place) throw new Error(`what is ${segment} of ${one.path}?`)
    return place
  })
}

/** What an operation needs to succeed besides what the document shows, or instead where that names what is not there. */
const needed: Readonly<
  Record<string, { params?: Place[]; query?: ArbitraryRequest['query']; body?: object }>
> = {
  // The clientId of the example is taken by then, and its rule is there.
  updatePod: { body: { name: 'Customer 18' } },
  // The address of the example was asked a moment ago.
  updateInbox: { body: { displayName: 'Support', forwardTo: null } },
  createPolicyRule: { query: [['podId', { real: 'pod' }]] },
  deletePod: { params: [{ real: 'emptyPod' }] },
  deletePolicyRule: { query: [['inboxId', { real: 'inbox' }]] },
  deleteSuppression: { query: [['recipient', { text: 'gone@example.net' }]] },
  waitForMessages: { query: [['timeout', { text: '0' }]] },
  updateDomain: { body: { podId: null } },
}

/** As the document shows it, for what is there. */
function plainRequest(one: Operation): ArbitraryRequest {
  const {
    params = rightParams(one),
    query = [],
    body = one.body && exampleOf(one.body),
  } = needed[one.id] ?? {}
  return {
    asker: 'account',
    params,
    query,
    contentType: one.body ? 'application/json' : undefined,
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: Object.keys(one.headers ?? {}).map(name => `${name}: ${randomUUID()}`),
  }
}

function textOf(place: Place, subject: Subject): string {
  return 'real' in place ? subject[place.real] : place.text
}

/** Percent-encoded as a client does, whose texts may have halves of surrogate pairs. */
function encode(text: string): string {
  // One dot or two would be resolved by clients, and an empty segment is another path.
  return encodeURIComponent(text.toWellFormed()).replace(/^\.{1,2}$/, '...') || '%20'
}

function rawOf(one: Operation, request: ArbitraryRequest, subject: Subject): RawRequest {
  const values = request.params.map(place => encode(textOf(place, subject)))
  const path = one.path.replaceAll(/\{\w+\}/g, () => values.shift() ?? '')
  const query = request.query.map(
    ([name, place]) =>
      `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(textOf(place, subject).toWellFormed())}`,
  )
  const key = subject.keys[request.asker]
  return {
    method: one.method.toUpperCase(),
    path: query.length > 0 ? `${path}?${query.join('&')}` : path,
    headers: [
      ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
      ...(request.contentType === undefined ? [] : [`Content-Type: ${request.contentType}`]),
      ...request.headers,
    ],
    body: request.body,
  }
}

/** Every header that an answer may have; another one would have come out of a request. */
const answerHeaders = [
  ...['content-type', 'content-length', 'date', 'connection', 'transfer-encoding', 'vary', 'keep-alive'],
  ...['allow', 'retry-after', 'www-authenticate', 'etag', 'content-encoding'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
  ...['content-disposition', 'cache-control', 'content-security-policy', 'x-content-type-options'],
]

function requireKnownHeaders({ headers }: Answer): void {
  const strange = [...headers.keys()].filter(name => !answerHeaders.includes(name))
  if (strange.length > 0) throw new Error(`headers of the answer: ${strange.join(', ')}`)
}

/** What Node does not take for HTTP (RFC 9110 §5.5), and refuses before anything of ours sees it. */
function isNoHttp({ headers }: RawRequest): boolean {
  return headers.some(line => /[\x00-\x08\x0a-\x1f\x7f]/.test(line))
}

t.test('no request causes a fault or what is not declared', async t => {
  const allowed = 'allow_http = true\nallow_networks = ["127.0.0.0/8"]'
  const server = await startApi(t, { toml: `[limits]\ninbox_creations_per_day = 0\n[webhook]\n${allowed}` })
  const { url } = await startWebhookReceiver(t)
  const contract = createContract(operations, openApiDocument(operations, [], server.baseUrl))
  let asked = 0

  const ask = async (request: RawRequest): Promise<Answer> => {
    asked++
    const answer = await sendRaw(server.port, request)
    requireKnownHeaders(answer)
    if (answer.status === 500) throw new Error('500')
    if (isNoHttp(request)) {
      if (answer.body?.error !== 'invalid_request') throw new Error(`${answer.status} for what is no HTTP`)
    } else contract(request.method, request.path, answer)
    // Failures of authentication are counted, and a minute has 60 of them.
    if (answer.status === 401) server.clock.advance(1000)
    return answer
  }

  // A stream goes on until somebody ends it; test/http/event-stream.test.ts and websocket.test.ts ask for those.
  const answered = operations.filter(({ success }) => !('feed' in success) && success.status !== 101)
  for (const one of answered) {
    await t.test(one.id, async t => {
      const isDomains = one.tag === 'Domains'
      let subject = await makeSubject(server, url, isDomains)
      const first = await ask(rawOf(one, plainRequest(one), subject))
      t.equal(first.status, one.success.status, `as the document shows it ${JSON.stringify(first.body)}`)
      const statuses = new Set<number>()
      await fc.assert(
        fc.asyncProperty(requestsOf(one, rightParams(one)), async request => {
          const { status } = await ask(rawOf(one, request, subject))
          statuses.add(status)
          const usesUp = one.method === 'delete' || one.id === 'sendDraft'
          if (usesUp && status < 300) subject = await makeSubject(server, url, isDomains)
        }),
        { seed, numRuns: requestsEach },
      )
      t.ok(statuses.size >= (one.access === 'anyone' ? 1 : 2), [...statuses].join(', '))
      t.strictSame(server.faults, [])
    })
  }

  await t.test('what is no operation', async t => {
    const known = [...answered, ...pages].map(each => each.path)
    const paths = fc.oneof(
      fc.constantFrom(...known),
      fc.tuple(fc.constantFrom(...known), nastyText).map(([path, text]) => `${path}/${encode(text)}`),
      fc.array(nastyText.map(encode), { maxLength: 4 }).map(parts => `/${parts.join('/')}`),
      fc
        .string({ unit: fc.integer({ min: 0x21, max: 0x7e }).map(code => String.fromCharCode(code)) })
        .map(text => `/${text}`),
    )
    const methods = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PURGE')
    await fc.assert(
      fc.asyncProperty(methods, paths, async (method, path) => {
        asked++
        const { status, body, headers } = await sendRaw(server.port, {
          method,
          path,
          headers: [],
          body: undefined,
        })
        if (status >= 500) throw new Error(String(status))
        if (status >= 400) t.match(body, { error: String, message: String })
        if (status === 405) t.match(headers.get('allow'), /^[A-Z, ]+$/)
        if (status === 401) server.clock.advance(1000)
      }),
      { seed, numRuns: 8 * requestsEach },
    )
    t.strictSame(server.faults, [])
  })
  t.ok(asked > 50 * requestsEach, `${asked} requests`)
})
