import { pipeline, type Readable } from 'node:stream'
import type { Context } from 'koa'

/** Statuses of which an answer has no body (RFC 9110 §6.4.1). */
const bodiless = new Set([204, 205, 304])

/**
 * Sends the answer that stands in a context, unless it is being written already (`context.respond`).
 * @param broke called with why a body could not be sent to its end
 */
export function respond(context: Context, broke: (error: unknown) => void): void {
  if (context.respond === false) return
  const { res, status, state } = context
  if (bodiless.has(status)) context.body = null
  // What was made ready stands beside what Koa has looked at.
  const body = (state.body ?? context.body) as string | Buffer | Readable | null | undefined
  // Of who has gone a stream ends with its response; Koa sees to that.
  if (!context.writable || context.method === 'HEAD') res.end()
  else if (typeof body === 'string' || Buffer.isBuffer(body)) res.end(body)
  else if (body) pipeline(body, res, error => error && broke(error))
  else res.end()
}
