import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import Koa, { type Context } from 'koa'
import t from 'tap'
import { unpacedBytes } from '../../lib/base/concurrency.ts'
import { keptJson } from '../../lib/http/json.ts'
import { answerKept, keepBody } from '../../lib/http/kept-body.ts'
import { turnsDuring } from '../support/event-loop.ts'

const koa = new Koa()
const count = 50

/** Those who ask at once, each on a connection of its own. */
function askers(headers: Record<string, string> = {}): Context[] {
  return Array.from({ length: count }, () => {
    const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/', headers })
    return koa.createContext(request, new ServerResponse(request)) as Context
  })
}

t.test('of all who ask for a large one at once, one is answered in a turn of the event loop', async t => {
  const value = { text: Array.from({ length: 60_000 }, (_, number) => number).join() }
  const answer = async (context: Context) => answerKept(context, await keptJson(value))
  for (const when of ['while it is made', 'when it is there']) {
    const contexts = askers()
    const { turns } = await turnsDuring(() => Promise.all(contexts.map(answer)))
    t.ok(turns >= count, `${when}: ${turns} turns`)
    t.equal(new Set(contexts.map(({ body }) => body)).size, 1, 'it is held once')
    t.ok((contexts[0]!.body as Buffer).length > unpacedBytes)
  }
})

t.test('who gets little waits for nobody: a small one, a compressed one, none at all', async t => {
  const small = await keepBody('x'.repeat(1000))
  const large = await keepBody('x'.repeat(1_000_000))
  const fresh = { 'if-none-match': `"${large.etag}"` }
  for (const [body, headers] of [
    [small, {}],
    [large, { 'accept-encoding': 'gzip' }],
    [large, fresh],
  ] as const) {
    const { turns } = await turnsDuring(() =>
      Promise.all(askers(headers).map(context => answerKept(context, body))),
    )
    t.equal(turns, 0)
  }
})
