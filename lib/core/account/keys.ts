import { isId, type Scope } from '../../base/ids.ts'
import { apiKeysPerScope, Problem } from '../../base/problem.ts'

import { randomBase62, sha256Hex } from '../../base/secrets.ts'
import type { ApiKey, ApiKeyWithToken } from '../../model/api-key.ts'
import * as keys from '../../store/api-keys.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import { notice } from '../../store/dialect/notices.ts'
import type { ApiKeyRow } from '../../store/tables.ts'
import type { Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, getPodRow } from '../app/reach.ts'

/** Keys whose holders are remembered as long as nothing is committed. */
const keysKnown = 10_000

const tokenPrefixLength = 8
/** `lastUsedAt` is exact to this; a busy key must not cost a write for each request. */
const lastUsedExactMs = 60_000

function present(row: ApiKeyRow): ApiKey {
  const { id, name, podId, inboxId, tokenPrefix, last4, createdAt, lastUsedAt } = row
  return { id, name, podId, inboxId, tokenPrefix, last4, createdAt, lastUsedAt }
}

/** Where a new key is to reach: the account, a pod (by id or clientId), or an inbox. */
export type KeyTarget = { account: true } | { pod: string } | { inbox: string }

/** @throws Problem `not_found` for a target that the caller does not reach */
async function scopeOf(db: Db, caller: Caller, target: KeyTarget): Promise<Scope> {
  if ('pod' in target) return { podId: (await getPodRow(db, caller, target.pod)).id, inboxId: null }
  if ('inbox' in target) {
    const inbox = await getInboxRow(db, caller, target.inbox)
    return { podId: inbox.podId, inboxId: inbox.id }
  }
  return { podId: null, inboxId: null }
}

/**
 * Makes a key. Its token is in the answer and nowhere else; only its hash is kept.
 * @throws Problem `not_found`; `api_key_limit_reached` when a pod or inbox has 20 active keys
 */
export async function createKey(
  app: Rows,
  caller: Caller,
  target: KeyTarget,
  name: string | null,
): Promise<ApiKeyWithToken> {
  const token = `${app.config.keys.prefix}${randomBase62(43)}`
  const row = await app.store.write(async db => {
    const scope = await scopeOf(db, caller, target)
    if (scope.podId !== null && (await keys.listApiKeys(db, scope)).length >= apiKeysPerScope) {
      throw new Problem('api_key_limit_reached')
    }
    const made: ApiKeyRow = {
      id: app.ids.next(),
      name,
      ...scope,
      tokenHash: sha256Hex(token),
      tokenPrefix: token.slice(0, tokenPrefixLength),
      last4: token.slice(-4),
      createdAt: app.clock.now().toISOString(),
      lastUsedAt: null,
      revokedAt: null,
    }
    await keys.insertApiKey(db, made)
    return made
  })
  return { ...present(row), token }
}

/** The active keys of exactly this target. @throws Problem `not_found` */
export async function listKeys(app: Rows, caller: Caller, target: KeyTarget): Promise<ApiKey[]> {
  const scope = await scopeOf(app.store.read, caller, target)
  return (await keys.listApiKeys(app.store.read, scope)).map(present)
}

/** All active keys, page by page after a key's id (for the operator). */
export async function listAllKeys(app: Rows, limit: number, after?: string): Promise<ApiKey[]> {
  return (await keys.listAllApiKeys(app.store.read, limit, after)).map(present)
}

/** Revokes a key of exactly this target; it is refused from the next request on. @throws Problem `not_found` */
export async function revokeKey(app: Rows, caller: Caller, target: KeyTarget, keyId: string): Promise<void> {
  await app.store.write(async db => {
    const scope = await scopeOf(db, caller, target)
    const row = isId(keyId) ? await keys.findApiKey(db, keyId.toLowerCase()) : undefined
    if (!row || row.podId !== scope.podId || row.inboxId !== scope.inboxId) throw noSuchKey()
    if (!(await keys.revokeApiKey(db, row.id, app.clock.now().toISOString()))) throw noSuchKey()
    notice(db, 'revocation')
  })
}

/** An active key of whatever target (for the operator). @throws Problem `not_found` */
export async function getAnyKey({ store }: Rows, keyId: string): Promise<ApiKey> {
  const row = isId(keyId) ? await keys.findApiKey(store.read, keyId.toLowerCase()) : undefined
  if (!row || row.revokedAt !== null) throw noSuchKey()
  return present(row)
}

/** Revokes any key (for the operator). @throws Problem `not_found` */
export async function revokeAnyKey(app: Rows, keyId: string): Promise<void> {
  const revoked =
    isId(keyId) &&
    (await app.store.write(db => {
      notice(db, 'revocation')
      return keys.revokeApiKey(db, keyId.toLowerCase(), app.clock.now().toISOString())
    }))
  if (!revoked) throw noSuchKey()
}

function noSuchKey(): Problem {
  return new Problem('not_found', 'There is no such active key.')
}

/** Who holds a key that is active. */
interface Holder {
  readonly caller: Caller & { readonly keyId: string }
  /** Undefined: never used. */
  readonly lastUsedMs: number | undefined
}

/** The holders that were looked up since the last commit of any process; the next one could be a revocation. */
interface KnownHolders {
  version: number
  readonly byToken: Map<string, Holder>
}
const knownHolders = new WeakMap<Rows['store'], KnownHolders>()

/** Who holds this token; undefined when nobody does or the key was revoked, which counts from its commit on. */
export async function findCaller(app: Rows, token: string): Promise<Caller | undefined> {
  const holder = await findHolder(app, token)
  if (!holder) return undefined
  const { caller, lastUsedMs } = holder
  const now = app.clock.now()
  if (lastUsedMs === undefined || now.getTime() - lastUsedMs >= lastUsedExactMs) {
    // Not waited for: the request does not depend on it.
    app.store
      .writeHolding(holdsNothing, db => keys.touchApiKey(db, caller.keyId, now.toISOString()))
      .catch(error => app.log.warn({ err: error, keyId: caller.keyId }, 'use of a key not noted'))
  }
  return caller
}

/** Whether the key is still good: `findCaller` for a request that was long under way. */
export async function isActiveToken(app: Rows, token: string): Promise<boolean> {
  return (await findHolder(app, token)) !== undefined
}

/** Asked of the database, unless nothing was committed since it was: that is asked at every request. */
async function findHolder({ store }: Rows, token: string): Promise<Holder | undefined> {
  // Before the row is read, which may be newer than that and never older.
  const version = store.version()
  const known = version === undefined ? undefined : holdersOf(store, version)
  const remembered = known?.byToken.get(token)
  if (remembered) return remembered
  const row = await keys.findApiKeyByHash(store.read, sha256Hex(token))
  if (!row || row.revokedAt !== null) return undefined
  const holder: Holder = {
    caller: { keyId: row.id, podId: row.podId, inboxId: row.inboxId },
    lastUsedMs: row.lastUsedAt === null ? undefined : Date.parse(row.lastUsedAt),
  }
  if (known && known.version === version && known.byToken.size < keysKnown) {
    known.byToken.set(token, holder)
  }
  return holder
}

function holdersOf(store: Rows['store'], version: number): KnownHolders {
  let known = knownHolders.get(store)
  if (!known) {
    known = { version, byToken: new Map() }
    knownHolders.set(store, known)
  }
  if (known.version !== version) {
    known.byToken.clear()
    known.version = version
  }
  return known
}
