import { invalidRequest } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { durationMs } from '../../config/duration.ts'
import { type DkimAlgorithm, type DkimSigner, generateDkimKey } from '../../mail/compose/dkim.ts'
import type { KeyFinding } from '../../mail/domain/check.ts'
import type { DomainKey } from '../../mail/domain/records.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import * as keys from '../../store/domain-keys.ts'
import { findDomainById, updateDomain } from '../../store/domains.ts'
import { sweepRows } from '../../store/sweeps.ts'
import type { DomainKeyRow, DomainRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import { sealInWrite, secretOf } from '../app/secrets.ts'

/** Due domains that are checked at once. */
export const domainChecksAtOnce = 20
/** How long the record of a DKIM key is to stay after another key took its place. */
const dkimPreviousMs = 7 * 86_400_000

/**
 * The life of a DKIM key: `next` while it is shown and its record is awaited; in use when a check found it (the RSA key in
 * use stands in the row of its domain, the Ed25519 one has state `used`); `previous` for seven days after another took its
 * place, for what it signed is still on the way: then nothing is left of it but its record.
 */
type KeyState = 'next' | 'used' | 'previous'

/** Who signs for a domain: its RSA key, and the Ed25519 one (RFC 8463) when its record was seen. */
export async function dkimSigner(app: App, domain: DomainRow, signedAt: Date): Promise<DkimSigner> {
  const rows = await keys.listDomainKeys(app.store.read, domain.id)
  const used = rows.filter(({ state, privateKey }) => state === 'used' && privateKey !== null)
  return {
    domain: domain.domain,
    selector: domain.selector,
    privateKeyPem: app.secrets.open(secretOf.domainDkim(domain.id), domain.dkimPrivateKey),
    signedAt,
    also: used.map(({ id, selector, privateKey }) => ({
      selector,
      privateKeyPem: app.secrets.open(secretOf.domainKey(id), privateKey!),
    })),
  }
}

/** A key as its record shows it. */
export function shownKey({ selector, algorithm, publicKey, state }: DomainKeyRow): DomainKey {
  return {
    selector,
    algorithm: algorithm as DkimAlgorithm,
    publicKeyBase64: publicKey,
    role: state === 'used' || (state === 'next' && selector === firstEd25519) ? 'ed25519' : (state as 'next'),
  }
}

/** The selector of the first Ed25519 key of a domain. */
const firstEd25519 = 'mailboxd-ed25519'

/** A key to be, whose private half is sealed in the write. */
interface NewKey {
  readonly row: Omit<DomainKeyRow, 'privateKey'>
  readonly privateKeyPem: string
}

async function insertNew(app: App, db: WriteDb, { row, privateKeyPem }: NewKey): Promise<void> {
  const privateKey = await sealInWrite(db, app.secrets, secretOf.domainKey(row.id), privateKeyPem)
  await keys.insertDomainKey(db, { ...row, privateKey })
}

/** A new key of a domain that is to be shown. */
async function newKey(
  app: App,
  domainId: string,
  algorithm: DkimAlgorithm,
  selector: string,
): Promise<NewKey> {
  const { privateKeyPem, publicKeyBase64 } = await generateDkimKey(algorithm)
  const id = app.ids.next()
  const row = {
    id,
    domainId,
    selector,
    algorithm,
    publicKey: publicKeyBase64,
    state: 'next' satisfies KeyState,
    recordStatus: 'missing',
    found: '[]',
    createdAt: app.clock.now().toISOString(),
    endsAt: null,
  }
  return { row, privateKeyPem }
}

/** Gives a domain its first Ed25519 key, unless it has one. */
export async function ensureEd25519(app: App, domainId: string): Promise<void> {
  const has = (rows: readonly DomainKeyRow[]) =>
    rows.some(({ algorithm, state }) => algorithm === 'ed25519' && state !== 'previous')
  if (has(await keys.listDomainKeys(app.store.read, domainId))) return
  const made = await newKey(app, domainId, 'ed25519', firstEd25519)
  await app.store.write(async db => {
    if (has(await keys.listDomainKeys(db, domainId)) || !(await findDomainById(db, domainId))) return
    await insertNew(app, db, made)
  })
}

/**
 * Makes a new key of each algorithm for a domain. They are shown among its records, and each signs as soon as a check finds it
 * in DNS; until then the ones of now do.
 * @throws Problem `invalid_request` while there are such keys already
 */
export async function rotateKeys(app: App, domain: DomainRow): Promise<void> {
  // To the minute: the same selector never names two keys.
  const stem = `mailboxd-${app.clock.now().toISOString().replace(/\D/g, '').slice(0, 12)}`
  const made = [
    await newKey(app, domain.id, 'rsa', stem),
    await newKey(app, domain.id, 'ed25519', `${stem}e`),
  ]
  await app.store.write(async db => {
    const rows = await keys.listDomainKeys(db, domain.id)
    if (rows.some(({ state, algorithm }) => state === 'next' && algorithm === 'rsa')) {
      const text = `${domain.domain} has new keys already: publish their records (mailboxctl domain records)`
      throw invalidRequest('', text)
    }
    if (rows.some(({ selector }) => selector.startsWith(stem)))
      throw invalidRequest('', `${domain.domain} got new keys in this minute`)
    // An Ed25519 key that nobody has seen is not waited for any more.
    for (const row of rows) if (row.state === 'next') await keys.deleteDomainKey(db, row.id)
    for (const one of made) await insertNew(app, db, one)
  })
  app.log.info({ domain: domain.domain, selectors: made.map(one => one.row.selector) }, 'new DKIM keys')
}

/** Gives new keys to some domains that sign by the same one for longer than the setting says; gives how many. */
export async function rotateDueKeys(app: App): Promise<number> {
  const every = app.config.dkim.rotate_every
  if (every === undefined) return 0
  const since = isoAfter(app.clock.now(), -durationMs(every))
  const due = await keys.listDomainsToRotate(app.store.read, since, domainChecksAtOnce)
  for (const domain of due) await rotateKeys(app, domain)
  return due.length
}

/**
 * Writes down what a check found of the keys beside the one in use, in the write of the check: whose record is there signs
 * from now on, in the place of the one before.
 * @returns what changes in the row of the domain
 */
export async function settleKeys(
  app: App,
  db: WriteDb,
  domain: DomainRow,
  found: ReadonlyMap<string, KeyFinding>,
): Promise<Partial<DomainRow>> {
  const now = app.clock.now().toISOString()
  let changes: Partial<DomainRow> = {}
  const rows = await keys.listDomainKeys(db, domain.id)
  for (const row of rows) {
    const finding = found.get(row.selector)
    if (finding?.status === undefined) continue
    const isSeen = finding.status === 'valid'
    const seen = { recordStatus: finding.status, found: JSON.stringify(finding.found) }
    await keys.updateDomainKey(db, row.id, seen)
    // Nobody could check its signatures; the RSA one holds by itself.
    if (row.state === 'used' && !isSeen) await keys.updateDomainKey(db, row.id, { state: 'next' })
    if (row.state !== 'next' || !isSeen) continue
    if (row.algorithm === 'rsa') {
      changes = await useRsaKey(app, db, domain, row, now)
      continue
    }
    for (const other of rows)
      if (other.state === 'used' && other.id !== row.id) await keys.updateDomainKey(db, other.id, ended(now))
    await keys.updateDomainKey(db, row.id, { state: 'used' })
    app.log.info({ domain: domain.domain, selector: row.selector }, 'DKIM key in use')
  }
  return changes
}

function ended(now: string) {
  return {
    state: 'previous',
    privateKey: null,
    endsAt: isoAfter(new Date(now), dkimPreviousMs),
  } satisfies Partial<DomainKeyRow>
}

async function useRsaKey(
  app: App,
  db: WriteDb,
  domain: DomainRow,
  next: DomainKeyRow,
  now: string,
): Promise<Partial<DomainRow>> {
  const pem = app.secrets.open(secretOf.domainKey(next.id), next.privateKey!)
  const changes = {
    selector: next.selector,
    dkimPrivateKey: await sealInWrite(db, app.secrets, secretOf.domainDkim(domain.id), pem),
    dkimPublicKey: next.publicKey,
    dkimSince: now,
  }
  await keys.deleteDomainKey(db, next.id)
  await keys.insertDomainKey(db, {
    id: app.ids.next(),
    domainId: domain.id,
    selector: domain.selector,
    algorithm: 'rsa',
    publicKey: domain.dkimPublicKey,
    recordStatus: 'valid',
    found: '[]',
    createdAt: now,
    ...ended(now),
  })
  await updateDomain(db, domain.id, changes)
  app.log.info({ domain: domain.domain, selector: next.selector }, 'DKIM key in use')
  return changes
}

/** Forgets some keys that were in use until a week ago; gives how many. */
export async function expireKeys(app: App): Promise<number> {
  const now = app.clock.now().toISOString()
  return app.store.writeHolding(holdsNothing, db => keys.deleteDomainKeysBefore(db, now, sweepRows))
}
