import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'

/** One call, as it arrived. */
export interface Call {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects, and fails when it is not there
  readonly json: any
}

export interface Reply {
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body?: string
}

export interface WebhookReceiver {
  readonly url: string
  /** Every call so far, in the order in which they were read. */
  readonly calls: Call[]
  /** The ids of the events of the calls. */
  ids(): string[]
}

/**
 * A real receiver of webhooks on loopback, over plain http.
 * @param answer says how a call is answered, 200 unless said; what it waits for holds the call
 */
export async function startWebhookReceiver(
  t: Test,
  answer: (call: Call, number: number) => Reply | Promise<Reply> = () => ({ status: 200 }),
): Promise<WebhookReceiver> {
  const calls: Call[] = []
  const server = createServer(async (request, response) => {
    const chunks = await request.toArray().catch(() => undefined)
    // A daemon that was killed in the middle of its call.
    if (!chunks || !request.complete) return
    const body = Buffer.concat(chunks).toString()
    const call = { path: request.url ?? '', headers: request.headers, body, json: JSON.parse(body) }
    calls.push(call)
    const reply = await answer(call, calls.length)
    response.writeHead(reply.status, reply.headers).end(reply.body)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(async () => {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    calls,
    ids: () => calls.map(call => call.json.event_id),
  }
}
