import { Problem } from '../../base/problem.ts'
import { createSecretBox, type Sealed, type SecretBox, type SecretPlace } from '../../base/secrets.ts'
import type { Clock } from '../../base/time.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Store } from '../../store/open.ts'
import * as rows from '../../store/secrets.ts'
import {
  installNextKey,
  makeSecretKey,
  readNextKey,
  readSecretKey,
  SecretKeyFault,
  secretKeyPath,
} from './secret-key.ts'

/** Where the secrets of a row stand. */
export const secretOf = {
  accountSigning: (id: string): SecretPlace => ({ table: 'account', column: 'signingSecret', id }),
  accountWebhook: (id: string): SecretPlace => ({ table: 'account', column: 'webhookSecret', id }),
  inboxWebhook: (id: string): SecretPlace => ({ table: 'inbox', column: 'webhookSecret', id }),
  domainKey: (id: string): SecretPlace => ({ table: 'domainKey', column: 'privateKey', id }),
  domainDkim: (id: string): SecretPlace => ({ table: 'domain', column: 'dkimPrivateKey', id }),
}

/**
 * Seals a secret in the write that stores it. Another process may have put all secrets under a new key since this one
 * took its own (`mailboxctl secrets rotate`); what this one sealed nobody could open any more.
 * @throws Problem `unavailable` when the key is in force no more
 */
export async function sealInWrite(
  db: WriteDb,
  box: SecretBox,
  place: SecretPlace,
  secret: string,
): Promise<Sealed> {
  await requireKeyInForce(db, box)
  return box.seal(place, secret)
}

/** @throws Problem `unavailable` when the secrets of the database are under another key by now */
export async function requireKeyInForce(db: WriteDb, box: SecretBox): Promise<void> {
  const inForce = await rows.findSecretKey(db)
  if (inForce?.id === box.keyId) return
  throw new Problem(
    'unavailable',
    'The secrets were put under a new key meanwhile; nothing was changed. Do it again.',
  )
}

interface SecretsParts {
  readonly store: Store
  readonly dataDir: string
  readonly clock: Clock
}

/**
 * Returns what opens and seals the secrets of this database, with the key of the data directory. The first start makes the key;
 * once the database has secrets under a key, that key must be there. Plain text in the database is never taken for a secret.
 * @throws SecretKeyFault when the key is missing, damaged, or not the one of this database
 */
export async function openSecrets({ store, dataDir, clock }: SecretsParts): Promise<SecretBox> {
  const path = secretKeyPath(dataDir)
  const known = await rows.findSecretKey(store.read)
  const present = await readKeyInForce(dataDir, known?.id)
  if (known && !present) {
    throw new SecretKeyFault(
      `${path} is missing, and the webhook secrets and DKIM keys in the database can not be read without it: restore it from the backup of the data directory, or copy it from another node where this one is new (its key is ${known.id})`,
    )
  }
  const box = createSecretBox(present ?? (await makeSecretKey(dataDir)))
  // Before anything is sealed: what decides is the row, of two processes that start at once, too.
  const key =
    known ??
    (await store.write(async db => {
      const row = await rows.findSecretKey(db)
      if (row) return row
      const made = { id: box.keyId, createdAt: clock.now().toISOString() }
      await rows.insertSecretKey(db, made)
      return made
    }))
  if (key.id !== box.keyId) {
    throw new SecretKeyFault(
      `${path} is not the key of this database: it is ${box.keyId}, and the database was sealed under ${key.id}; restore database and key from the same backup, or copy the key from another node where this one is new`,
    )
  }
  return box
}

/** The key of the file or, where a change of it was cut off behind its write, the one that the database was sealed under then. */
async function readKeyInForce(dataDir: string, id: string | undefined): Promise<Buffer | undefined> {
  const present = await readSecretKey(dataDir)
  if (id === undefined || (present && createSecretBox(present).keyId === id)) return present
  const next = await readNextKey(dataDir)
  if (!next || createSecretBox(next).keyId !== id) return present
  await installNextKey(dataDir, next)
  return next
}
