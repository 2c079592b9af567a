import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import type { Log } from '../../base/log.ts'
import { Problem } from '../../base/problem.ts'
import {
  createSecretBox,
  isSealed,
  type Sealed,
  type SecretBox,
  type SecretPlace,
} from '../../base/secret-box.ts'
import { findAccount } from '../../store/account.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Store } from '../../store/open.ts'
import type { SecretColumn } from '../../store/secrets.ts'
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
  readonly log: Log
}

/**
 * What opens and seals the secrets of this database, with the key of the data directory. The key is made the first time;
 * once the database has secrets under a key, that one must be there. What still stands in plain text, from before secrets
 * were sealed, is sealed here, once and in short writes; nowhere else is plain text taken for a secret.
 * @throws SecretKeyFault when the key is missing, damaged, or not the one of this database
 */
export async function openSecrets(parts: SecretsParts): Promise<SecretBox> {
  const { store, dataDir, clock } = parts
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
      const made = { id: box.keyId, createdAt: clock.now().toISOString(), sealedAt: null }
      await rows.insertSecretKey(db, made)
      return made
    }))
  if (key.id !== box.keyId) {
    throw new SecretKeyFault(
      `${path} is not the key of this database: it is ${box.keyId}, and the database was sealed under ${key.id}; restore database and key from the same backup, or copy the key from another node where this one is new`,
    )
  }
  if (key.sealedAt === null) await sealAll(parts, box)
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

async function sealAll({ store, clock, log }: SecretsParts, box: SecretBox): Promise<void> {
  const isOld = (await findAccount(store.read)) !== undefined
  if (isOld) {
    let count = 0
    for (const column of rows.secretColumns) count += await sealColumn(store, box, column)
    log.info({ count, keyId: box.keyId }, 'the secrets in the database are encrypted now')
    await store.forgetOverwrittenSecrets()
  }
  // Last: a start that is cut off before this does all of it again.
  await store.write(db => rows.setSecretsSealed(db, box.keyId, clock.now().toISOString()))
}

/** Seals what stands in plain text in one column; gives how many were. */
async function sealColumn(store: Store, box: SecretBox, column: SecretColumn): Promise<number> {
  let count = 0
  let after = ''
  for (let isMore = true; isMore; ) {
    const done = await store.write(async db => {
      await requireKeyInForce(db, box)
      const page = await rows.listSecrets(db, column, after, limits.sweepRows)
      const plain = page.filter(({ text }) => !isSealed(text))
      for (const { id, text } of plain) {
        await rows.updateSecret(db, column, id, box.seal({ ...column, id }, text))
      }
      return { last: page.at(-1)?.id, count: plain.length }
    })
    count += done.count
    isMore = done.last !== undefined
    after = done.last ?? after
  }
  return count
}
