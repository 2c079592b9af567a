/** The characters of a mailbox name. */
export const mailboxNameMin = 3
export const mailboxNameMax = 30
/** Active keys of a pod, and of an inbox. */
export const apiKeysPerScope = 20
/** Sender rules of one scope in one direction. */
export const policyRules = 1000
/** Messages within an hour between two inboxes here in one thread. */
export const replyLoopMessages = 20
/** Drafts of an inbox that were not sent. */
export const draftsPerInbox = 1000
/** Bytes of all attachments of a message that is sent. */
export const attachmentsBytes = 25 * 1024 * 1024
/** How long the answer of a request is kept under its Idempotency-Key. */
export const idempotencyHours = 24
/** How soon an address may be asked again whether it wants the mail of an inbox. */
export const forwardCooldownMs = 60_000
/** Streams of events of one key. */
export const streamsPerKey = 10

/**
 * The codes with which an API client can be refused. Each has one status, and a text for where the place that refuses has
 * nothing more exact to say. Operations list the codes that they can give (lib/api/operation.ts). A third element is the
 * code that clients get: the specification gives some codes two statuses.
 */
export const problems = {
  invalid_request: [
    400,
    'The request is not well-formed: `details` tells where each fault is. Mend them; the same request is refused again.',
  ],
  missing_idempotency_key: [
    400,
    'Send an Idempotency-Key header: any text of your own that names this one send, so that a retry does not send twice.',
  ],
  invalid_mailbox_name: [
    400,
    `A mailbox name has ${mailboxNameMin} to ${mailboxNameMax} characters: a-z, 0-9, dot, hyphen and underscore, with a letter or digit at both ends and no two dots in a row.`,
  ],
  invalid_domain: [
    400,
    'No inbox can be made in this domain: it is none of this server that its pod may use. GET /v1/domains lists those that there are.',
  ],
  invalid_pod: [
    400,
    'podId names no pod of this account. Give the id or the clientId of one (GET /v1/pods), or leave it out.',
  ],
  no_webhook_url: [400, 'There is no webhook here that could be called or have a secret. Set its URL first.'],
  unauthorized: [
    401,
    'The API key is missing, wrong or revoked. Send a valid one as "Authorization: Bearer <key>"; do not repeat the request with this one.',
  ],
  spend_cap_paused: [
    402,
    "This month's limit of the plan is reached, so no inbox can be made until the next month begins.",
  ],
  forbidden: [403, 'The key reaches this, but may not do it; it takes a key of wider reach.'],
  domain_under_review: [
    403,
    'The operator of this server holds this domain under review. Nothing about it can be changed until it is approved.',
  ],
  feature_requires_paid_plan: [
    403,
    'On the free plan replyTo must be the address of an inbox here. Leave it out, or change the plan.',
  ],
  recipient_not_permitted: [
    403,
    'The sender rules do not permit `recipient`, so nothing was sent to anybody. Leave it out, or change the rules (GET /v1/policy).',
  ],
  inherited_rule: [
    403,
    'This rule is inherited from the pod or the account; it can only be changed where it was made.',
  ],
  inbox_suspended: [
    403,
    'The operator of this server suspended this inbox: it receives, and can not send until it is resumed.',
  ],
  not_found: [404, 'There is no such thing here, or the key does not reach it; the two are not told apart.'],
  method_not_allowed: [
    405,
    'This path does not take this method; the Allow header lists those that it does.',
  ],
  address_taken: [
    409,
    'This address is in use, was in use before, or is reserved. Choose another mailbox name.',
  ],
  client_id_taken: [
    409,
    'This clientId is in use: another pod, or another inbox of the pod, has it. Choose another, or ask for what has it.',
  ],
  pod_not_empty: [409, 'The pod still has inboxes. Delete them first.'],
  pod_has_domains: [409, 'The pod still has domains. Delete them first.'],
  domain_exists: [
    409,
    'This domain was added here already, or a pod has proved that it is its own. GET /v1/domains?domain= finds yours.',
  ],
  domain_in_use: [409, 'Inboxes of other pods use this domain. Delete them first.'],
  default_pod: [409, "The default pod can't be deleted: what names no pod is in it."],
  member_exists: [409, 'This address is a member already; nothing needs to be done.'],
  rule_exists: [409, 'There is such a rule in this scope and direction already; nothing needs to be done.'],
  recipients_changed: [
    409,
    'The recipients of this reply have changed since the draft was saved. Nothing was sent. PATCH the draft with {} to accept the new recipients, which it then shows, or with `to` to name others. Then send or schedule it again.',
  ],
  draft_sent: [
    409,
    'This draft was sent already; it can be neither changed nor sent again. Its messageId names the message; make a new draft.',
  ],
  idempotency_key_conflict: [
    409,
    `This Idempotency-Key was used for another request within the last ${idempotencyHours} hours. Use a new key.`,
  ],
  request_timeout: [
    408,
    'The request did not arrive in time, so nothing was done: send it again, over a faster line, or send less.',
  ],
  payload_too_large: [413, 'The request body is larger than this operation takes. Send less, or in parts.'],
  attachments_too_large: [
    413,
    `The attachments are larger than ${attachmentsBytes / 1024 / 1024} MB together, which most mail servers would not take either. Send a link, or several messages.`,
  ],
  unsupported_media_type: [415, 'Send the body as application/json (a send also as multipart/form-data).'],
  api_key_limit_reached: [422, `There are ${apiKeysPerScope} active keys here already. Revoke one first.`],
  unverified_domain: [
    422,
    "The records of the inbox's domain are not right in DNS, so nothing can be sent from it. Publish them, then verify the domain.",
    'invalid_domain',
  ],
  unregistrable_domain: [
    422,
    'This is not a domain that can be added: give a name that somebody registered, or one below it, such as agents.example.com.',
    'invalid_domain',
  ],
  domain_limit_reached: [
    422,
    'The pod has as many domains that are not verified as it may. Verify or delete some first.',
  ],
  domain_has_inboxes: [422, 'The domain still has inboxes. Delete them first.'],
  recipient_is_sender: [
    422,
    "An inbox can't send to itself, not by way of cc or bcc either. Take its address out.",
  ],
  rule_limit_reached: [422, `There are ${policyRules} rules in this direction already. Delete one first.`],
  draft_limit_reached: [
    422,
    `This inbox has ${draftsPerInbox} drafts that were not sent. Send or delete some first.`,
  ],
  malicious_message: [
    422,
    'A scanner found a virus in this message, so it is not passed on. With includeMalicious it is.',
  ],
  too_many_recipients: [
    422,
    'The answered message asks for more recipients than a reply may reach unasked. List those that you want in `to`.',
  ],
  recipient_suppressed: [
    422,
    'This recipient is on the suppression list: mail to it came back, or it asked for none. Nothing was sent to anybody. Leave it out; when the address works again, an account key can lift that (DELETE /v1/suppressions).',
  ],
  invalid_webhook_url: [
    422,
    'webhookUrl must be an https address that is reachable from the public Internet, without a user name.',
  ],
  invalid_forward_to: [
    422,
    'forwardTo must be one email address, such as ann@example.com, in a domain of the public Internet.',
  ],
  forward_to_is_service_address: [
    422,
    'forwardTo is an address of this server, to which nothing is forwarded. Read its mail by the API instead.',
  ],
  forward_verification_cooldown: [
    422,
    `This address was asked for its consent less than ${forwardCooldownMs / 1000} seconds ago. Wait as long as Retry-After says, then set forwardTo again.`,
  ],
  invalid_forward_when: [
    422,
    'forwardWhen must be "always", "needs_human" or "webhook_failed"; leave it out for "always".',
  ],
  forward_when_requires_forward_to: [422, 'forwardWhen says when to forward; set forwardTo, too.'],
  inbox_limit_reached: [422, 'The plan allows no more inboxes. Delete one, or change the plan.'],
  storage_full: [
    422,
    'The inbox or its pod has no room for more. Delete messages, threads or drafts with attachments, or ask the operator to raise storage.inbox_bytes or storage.pod_bytes.',
  ],
  upgrade_required: [
    426,
    'This is a WebSocket (RFC 6455): connect to it with a WebSocket client, and see that proxies pass Upgrade on.',
  ],
  inbox_creation_limit: [
    429,
    'No more inboxes can be made today. Wait as long as Retry-After says; the day is that of UTC.',
  ],
  cold_outreach_limit: [
    429,
    'This inbox has written to as many strangers today as it may. Wait as long as Retry-After says; replies can be sent all the same.',
  ],
  sending_limit: [
    429,
    'This inbox has reached its limit of recipients for this hour (sending.recipients_per_inbox_hour). Nothing was sent. Retry after the time in Retry-After.',
  ],
  forward_verification_limit: [
    429,
    'As many confirmation mails for forwarding were sent within an hour as may be. Wait as long as Retry-After says.',
  ],
  too_many_streams: [429, `This key has ${streamsPerKey} streams of events open already. Close one first.`],
  rate_limit_exceeded: [429, 'Too many requests. Wait as long as Retry-After says.'],
  reply_loop: [
    429,
    `More than ${replyLoopMessages} messages passed between these two inboxes in this thread within an hour; this looks like two programs answering each other.`,
  ],
  internal_error: [
    500,
    'Something went wrong on the server; the log tells what. The request can be repeated.',
  ],
  webhook_failed: [
    502,
    'The webhook was called and did not answer 2xx within 15 seconds; the message says what it did. Mend the receiver and try again.',
  ],
  unavailable: [503, 'The server is stopping or can not write to its database. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, text: string, name?: string]>

export type ProblemCode = keyof typeof problems

/** The HTTP status that belongs to `code`. */
export function statusOf(code: ProblemCode): number {
  return problems[code][0]
}

/** What clients get as `error` for `code`. */
export function nameOf(code: ProblemCode): string {
  const problem: readonly [status: number, text: string, name?: string] = problems[code]
  return problem[2] ?? code
}

/**
 * A refusal to an API client. Whatever else is thrown is a bug and travels to the door untouched.
 * `more` are additional properties of the error body (such as `details`); `retryAfterSeconds` becomes a header.
 */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly code: ProblemCode
  readonly more: Readonly<Record<string, unknown>>

  constructor(code: ProblemCode, message?: string, more: Readonly<Record<string, unknown>> = {}) {
    super(message ?? problems[code][1])
    this.code = code
    this.more = more
  }
}

/** One thing that is wrong with a request: its JSON pointer (RFC 6901) within the part that it stands in, and what is wrong. */
export interface Fault {
  readonly path: string
  readonly message: string
}

/** Each in a sentence of its own; of more it says how many there are. */
const faultsInMessage = 3

/**
 * Refuses a request for what it says, in `message` for people and in `details` for programs.
 * @param where the part and the pointer: `body/to/0`, `query/after`; empty where it is about the whole request
 * @param message goes on from there: `must be an instant`; a whole sentence without its period where `where` is empty
 * @param others further faults of the same part
 */
export function invalidRequest(where: string, message: string, others: readonly Fault[] = []): Problem {
  const slash = where.indexOf('/')
  const [part, path] = slash < 0 ? [where, ''] : [where.slice(0, slash), where.slice(slash)]
  const details = [{ path, message }, ...others]
  const told = details
    .slice(0, faultsInMessage)
    .map(fault => `${part}${fault.path} ${fault.message}.`.trimStart())
  const more = details.length - told.length
  if (more > 0) told.push(`${more} more ${more === 1 ? 'fault stands' : 'faults stand'} in details.`)
  return new Problem('invalid_request', told.join(' '), { details })
}

/** A fault that a rule found which no schema can say. */
export interface FoundFault extends Fault {
  /** The code that it is refused with where nothing else is wrong, if it has one of its own. */
  readonly code?: ProblemCode
}

/** A value of a request that was not yet found to be well-formed. */
export type Given = Readonly<Record<string, unknown>>

/**
 * What `check` refuses, as faults that are told beside others. @param path of what is checked
 * @param words what is told of a refusal with a code of its own, after the name of the field
 */
export function* faultsOf(path: string, check: () => unknown, words?: string): Generator<FoundFault> {
  try {
    check()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'invalid_request') yield* error.more.details as readonly Fault[]
    else yield { path, message: words ?? `is refused: ${error.message.replace(/\.$/, '')}`, code: error.code }
  }
}

/** The same of a field, where that is a text; what else it may be is for the schema to say. */
export function* faultsOfText(
  given: Given,
  name: string,
  check: (text: string) => unknown,
  words?: string,
): Generator<FoundFault> {
  const value = given[name]
  if (typeof value === 'string') yield* faultsOf(`/${name}`, () => check(value), words)
}

/** The three forms of an HTTP-date (RFC 9110 §5.6.7); the last one says no zone and means GMT as well. */
const imfFixdate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/
const rfc850 = /^[A-Z][a-z]{5,8}, (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}:\d{2}:\d{2}) GMT$/
const asctime = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2} \d{4}$/

/**
 * What a Retry-After asks for, in milliseconds from `now`: seconds or an HTTP-date (RFC 9110 §10.2.3), from 0 up to
 * `mostMs`. Undefined when it is neither.
 */
export function readRetryAfter(text: string, now: Date, mostMs: number): number | undefined {
  const value = text.trim()
  const waitMs = /^\d+$/.test(value) ? Number(value) * 1000 : dateOf(value, now) - now.getTime()
  if (Number.isNaN(waitMs)) return undefined
  return Math.min(Math.max(waitMs, 0), mostMs)
}

function dateOf(value: string, now: Date): number {
  if (imfFixdate.test(value)) return Date.parse(value)
  if (asctime.test(value)) return Date.parse(`${value} GMT`)
  const [, day, month, year, time] = rfc850.exec(value) ?? []
  if (year === undefined) return Number.NaN
  // Two digits that seem more than 50 years ahead are of the century before (RFC 9110 §5.6.7).
  const inThisCentury = now.getUTCFullYear() - (now.getUTCFullYear() % 100) + Number(year)
  const full = inThisCentury > now.getUTCFullYear() + 50 ? inThisCentury - 100 : inThisCentury
  return Date.parse(`${day} ${month} ${full} ${time} GMT`)
}
