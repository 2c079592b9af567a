import { idempotencyHours, Problem, type ProblemCode, statusOf } from '../../base/problem.ts'
import { sha256Hex } from '../../base/secrets.ts'
import { isoAfter } from '../../base/time.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import {
  findIdempotency,
  insertIdempotency,
  isKeyUsedElsewhere,
  touchIdempotency,
} from '../../store/idempotency.ts'
import type { IdempotencyRow } from '../../store/tables.ts'
import type { App } from './app.ts'
import type { Caller } from './caller.ts'
import { inServerTime, mailStorageMs } from './server-time.ts'

/** A request that may come again under the same key. */
export interface Repeatable {
  readonly caller: Caller
  /** The inbox that sends, within the caller's reach. */
  readonly inbox: { readonly id: string; readonly podId: string }
  readonly key: string
  /** All that makes two requests of one inbox the same one. */
  readonly request: unknown
}

/** What else is done in the write of the effect. */
export interface Remembering {
  /** Notes the final answer in the write that makes it true. What it throws undoes that write. */
  remember(db: WriteDb, body: unknown): Promise<void>
  /** What that write holds, as `Held` has it. */
  readonly names: readonly string[]
}

/** Another process has answered a request of this inbox and key meanwhile. */
class Answered extends Error {
  override readonly name = 'Answered'
}

/** What rules say of a request that is well-formed; what is wrong with its form does not use its key up. */
const rememberedRefusals = [402, 403, 404, 422]

/**
 * Does `work` once for an inbox and a key, whatever credential asks: a repeat within 24 hours gets the first answer, one
 * that comes while the first is under way waits for it. The record is a row with a unique key, written with what it
 * answers, so two processes can't both do the work. Remembered are answers, and refusals that the rules gave.
 * @throws Problem `idempotency_key_conflict` when the key was used for another request of this inbox, or for another inbox
 * that the caller reaches
 */
export async function once<Body>(
  app: App,
  repeatable: Repeatable,
  work: (remembering: Remembering) => Promise<Body>,
): Promise<Body> {
  const name = `${repeatable.inbox.id}\n${repeatable.key}`
  const running = app.underWay
  for (let first = running.get(name); first; first = running.get(name)) await first.catch(() => {})
  const done = doOnce(app, repeatable, work)
  running.set(name, done)
  try {
    return await done
  } finally {
    running.delete(name)
  }
}

async function doOnce<Body>(
  app: App,
  repeatable: Repeatable,
  work: (remembering: Remembering) => Promise<Body>,
): Promise<Body> {
  const { caller, inbox, key, request } = repeatable
  const requestHash = sha256Hex(canonicalJson(request))
  const since = isoAfter(app.clock.now(), -idempotencyHours * 3_600_000)

  // What other inboxes did is not for the key of one to know.
  const reach = caller.inboxId === null ? { podId: caller.podId } : undefined

  // Whether another inbox used the key is asked before there is a row of it.
  const names = [`idempotency ${key}`]

  /** What this inbox was answered under the key; undefined for the first time. */
  const findAnswer = async (db: Db): Promise<IdempotencyRow | undefined> => {
    const known = await findIdempotency(db, inbox.id, key)
    const isKnown = known !== undefined && known.createdAt > since
    const isUsedOtherwise = isKnown
      ? known.requestHash !== requestHash
      : reach !== undefined &&
        (await isKeyUsedElsewhere(db, key, { inboxId: inbox.id, podId: reach.podId, since }))
    if (isUsedOtherwise) throw new Problem('idempotency_key_conflict')
    return isKnown ? known : undefined
  }
  const remember = async (db: WriteDb, status: number, body: unknown) => {
    const row = {
      inboxId: inbox.id,
      key,
      podId: inbox.podId,
      requestHash,
      status,
      body: JSON.stringify(body),
      createdAt: app.clock.now().toISOString(),
    }
    if (await insertIdempotency(db, row, since, reach)) return
    await findAnswer(db)
    throw new Answered()
  }

  const write = <T>(work: (db: WriteDb) => Promise<T>) =>
    inServerTime(
      app,
      app.store.writeHolding(() => ({ names }), work),
      mailStorageMs,
    )

  /**
   * An answer that a server shows may be on it alone: its commit was cut off while it waited for the standby, and a failover takes it away.
   * A commit behind it is told as done when that one is there, too; and false is given where it has been taken away.
   */
  const isKept = async (answer: IdempotencyRow) =>
    app.store.dialect === 'sqlite' || (await write(db => touchIdempotency(db, answer)))

  const known = await findAnswer(app.store.read)
  if (known && (await isKept(known))) return replay<Body>(known)
  try {
    return await work({ remember: (db, body) => remember(db, 200, body), names })
  } catch (error) {
    // What a credential may not do is no answer to who has another.
    const isRemembered =
      error instanceof Problem &&
      error.code !== 'forbidden' &&
      rememberedRefusals.includes(statusOf(error.code))
    if (isRemembered) {
      const { code, message, more } = error
      await write(db => remember(db, statusOf(code), { code, message, more })).catch(answered => {
        if (!(answered instanceof Answered)) throw answered
      })
    }
    // The same request elsewhere may have taken what this one was refused for want of: the last place of a limit.
    const isRefused = error instanceof Problem && error.code !== 'forbidden'
    const answer = isRefused || error instanceof Answered ? await findAnswer(app.store.read) : undefined
    if (answer && (await isKept(answer))) return replay<Body>(answer)
    throw error
  }
}

function replay<Body>({ status, body }: IdempotencyRow): Body {
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
