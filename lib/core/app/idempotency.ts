import { isoAfter } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import { Problem, type ProblemCode, statusOf } from '../../base/problem.ts'
import { sha256Hex } from '../../base/secret.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { findIdempotency, putIdempotency } from '../../store/idempotency.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'

/** A request that may come again under the same key. */
export interface Repeatable {
  readonly caller: Caller
  readonly key: string
  /** All that makes two requests the same one. */
  readonly request: unknown
}

/** Notes the final answer in the write that makes it true. */
export type Remember = (db: WriteDb, body: unknown) => Promise<void>

/**
 * Does `work` once for a key: a repeat within 24 hours gets the first answer, one that comes while the first is under
 * way waits for it. Remembered are answers and refusals (4xx except 429); faults of ours are not.
 * @throws Problem `idempotency_key_conflict` when the key was used for another request
 */
export async function once<Body>(
  app: App,
  { caller, key, request }: Repeatable,
  work: (remember: Remember) => Promise<Body>,
): Promise<Body> {
  // Tenants do not know of each other's keys, so each has its own.
  const scope = caller.podId ?? 'account'
  const requestHash = sha256Hex(canonicalJson(request))
  const name = `${scope}\n${key}`
  const running = app.underWay

  for (let first = running.get(name); first; first = running.get(name)) await first.catch(() => {})

  const done = (async () => {
    const known = await findIdempotency(app.store.read, scope, key)
    if (known && !isExpired(app, known.createdAt)) {
      if (known.requestHash !== requestHash) throw new Problem('idempotency_key_conflict')
      return replay<Body>(known.status, known.body)
    }
    const remember = (db: WriteDb, status: number, body: unknown) =>
      putIdempotency(db, {
        scope,
        key,
        requestHash,
        status,
        body: JSON.stringify(body),
        createdAt: app.clock.now().toISOString(),
      })
    try {
      return await work((db, body) => remember(db, 200, body))
    } catch (error) {
      if (error instanceof Problem && isFinal(statusOf(error.code))) {
        const { code, message, more } = error
        await app.store.write(db => remember(db, statusOf(code), { code, message, more }))
      }
      throw error
    }
  })()
  running.set(name, done)
  try {
    return await done
  } finally {
    running.delete(name)
  }
}

function isExpired(app: App, createdAt: string): boolean {
  return isoAfter(new Date(createdAt), limits.idempotencyHours * 3_600_000) <= app.clock.now().toISOString()
}

function isFinal(status: number): boolean {
  return status < 500 && status !== 429
}

function replay<Body>(status: number, body: string): Body {
  const value = JSON.parse(body)
  if (status === 200) return value as Body
  const { code, message, more } = value as {
    code: ProblemCode
    message: string
    more: Record<string, unknown>
  }
  throw new Problem(code, message, more)
}

/** JSON in which the order of properties does not matter. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
