import { randomUUID } from 'node:crypto'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  readonly body: any
  readonly bytes: Buffer
}

/** A client of the API with one key. */
export interface Api {
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  get(path: string): Promise<Answer>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Answer>
  patch(path: string, body: unknown): Promise<Answer>
  delete(path: string): Promise<Answer>
  /** POST …/send with a key of its own. */
  send(inboxId: string, body: unknown, idempotencyKey?: string): Promise<Answer>
}

/**
 * @param token undefined: no Authorization header
 * @param check is shown every answer, and throws when it is not what it may be
 */
export function apiOf(
  baseUrl: string,
  token: string | undefined,
  check: (method: string, path: string, answer: Answer) => void = () => {},
): Api {
  async function call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await fetch(new URL(path, baseUrl), {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const isFeed = response.headers.get('content-type')?.startsWith('text/event-stream')
    // It has no end: that it began is what can be seen here.
    if (isFeed) await response.body?.cancel()
    const bytes = isFeed ? Buffer.alloc(0) : Buffer.from(await response.arrayBuffer())
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    const answer = {
      status: response.status,
      headers: response.headers,
      body: isJson && bytes.length > 0 ? JSON.parse(bytes.toString()) : undefined,
      bytes,
    }
    check(method, path, answer)
    return answer
  }
  return {
    call,
    get: path => call('GET', path),
    post: (path, body, headers) => call('POST', path, body, headers),
    patch: (path, body) => call('PATCH', path, body),
    delete: path => call('DELETE', path),
    send: (inboxId, body, idempotencyKey = randomUUID()) =>
      call('POST', `/v1/inboxes/${inboxId}/send`, body, { 'idempotency-key': idempotencyKey }),
  }
}
