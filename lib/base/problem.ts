/**
 * What an API client can be refused with: each code with its one status and the text said when the place that
 * refuses has nothing more exact to say. Operations list the codes that they can give (lib/api/operation.ts).
 */
export const problems = {
  invalid_request: [400, 'The request is not well-formed.'],
  missing_idempotency_key: [
    400,
    'Send an Idempotency-Key header: any text of your own that names this one send, so that a retry does not send twice.',
  ],
  invalid_mailbox_name: [
    400,
    'A mailbox name has 3 to 30 characters: a-z, 0-9, dot, hyphen and underscore, with a letter or digit at both ends and no two dots in a row.',
  ],
  invalid_domain: [400, 'This domain is not one of this server that the inbox can use.'],
  invalid_pod: [400, 'podId names no pod of this account.'],
  unauthorized: [401, 'Send a valid API key as "Authorization: Bearer <key>".'],
  forbidden: [403, 'This key may not do this.'],
  not_found: [404, 'There is no such thing here.'],
  method_not_allowed: [
    405,
    'This path does not take this method; the Allow header lists those that it does.',
  ],
  address_taken: [
    409,
    'This address is in use, was in use before, or is reserved. Choose another mailbox name.',
  ],
  client_id_taken: [409, 'Another pod has this clientId.'],
  pod_not_empty: [409, 'The pod still has inboxes. Delete them first.'],
  pod_has_domains: [409, 'The pod still has domains. Delete them first.'],
  default_pod: [409, "The default pod can't be deleted."],
  idempotency_key_conflict: [
    409,
    'This Idempotency-Key was used for another request within the last 24 hours. Use a new key.',
  ],
  payload_too_large: [413, 'The request body is larger than this operation takes.'],
  attachments_too_large: [413, 'The attachments are larger than 25 MB together.'],
  unsupported_media_type: [415, 'Send the body as application/json.'],
  api_key_limit_reached: [422, 'There are 20 active keys here already. Revoke one first.'],
  recipient_is_sender: [422, "An inbox can't send to itself."],
  rate_limit_exceeded: [429, 'Too many requests. Wait as long as Retry-After says.'],
  reply_loop: [
    429,
    'More than 20 messages passed between these two inboxes in this thread within an hour; this looks like two programs answering each other.',
  ],
  internal_error: [
    500,
    'Something went wrong on the server; the log tells what. The request can be repeated.',
  ],
  unavailable: [503, 'The server is stopping or can not write to its database. Try again shortly.'],
} as const satisfies Record<string, readonly [status: number, text: string]>

export type ProblemCode = keyof typeof problems

/** The HTTP status that belongs to `code`. */
export function statusOf(code: ProblemCode): number {
  return problems[code][0]
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
