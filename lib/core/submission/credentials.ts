import { Reply } from '../../base/reply.ts'
import { normaliseAddress } from '../../mail/address/address.ts'
import { findApiKey } from '../../store/api-keys.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { findCaller } from '../account/keys.ts'
import type { App } from '../app/app.ts'
import { type Caller, reachesInbox } from '../app/caller.ts'
import { findInboxByName } from '../app/reach.ts'

/** Who submits mail: an API key for one inbox. */
export interface Submitter {
  readonly keyId: string
  readonly inboxId: string
  readonly address: string
}

/** What a client says of itself (RFC 4954): the address of the inbox, and the key. */
export interface Credentials {
  readonly user: string
  readonly password: string
}

/** Whom the key lets send from the inbox with this address; undefined for a wrong pair, of which it is not said what is wrong. */
export async function findSubmitter(
  app: App,
  { user, password }: Credentials,
): Promise<Submitter | undefined> {
  const address = normaliseAddress(user)
  const caller = await findCaller(app, password)
  if (!caller || address === undefined) return undefined
  const inbox = await findInboxByName(app.store.read, address)
  if (!inbox || !reachesInbox(caller, inbox)) return undefined
  return { keyId: caller.keyId!, inboxId: inbox.id, address: inbox.address }
}

/** The caller that a submitter is, as its key is now. @throws Reply 535 5.7.8 when that was revoked */
export async function callerOf(db: Db, { keyId }: Submitter): Promise<Caller> {
  const key = await findApiKey(db, keyId)
  if (!key || key.revokedAt !== null) {
    throw new Reply(535, '5.7.8', 'This API key was revoked meanwhile; authenticate with another one')
  }
  return { keyId, podId: key.podId, inboxId: key.inboxId }
}
