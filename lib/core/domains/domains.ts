import { isId } from '../../base/ids.ts'
import { dnsTimeoutMs } from '../../base/network.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { generateDkimKey } from '../../mail/compose/dkim.ts'
import type { Domain, DomainChange, DomainCreation } from '../../model/domain.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { listKeysOfDomains } from '../../store/domain-keys.ts'
import * as domains from '../../store/domains.ts'
import type { DomainRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { findPodByName } from '../app/reach.ts'
import { sealInWrite, secretOf } from '../app/secrets.ts'
import { findRecords, runDomainCheck } from './checks.ts'
import { ensureEd25519, rotateKeys } from './keys.ts'
import { hasLocalName } from './local-name.ts'
import { domainCheckFirstMs, knownAfterCheck } from './outcome.ts'
import { present, shown } from './present.ts'
import { requireRegistrable } from './registrable.ts'
import { findHolder, isAccountDomain, selector } from './usable.ts'

/** Makes the row and the keys of the account's own domain, where they are missing. `domain` is lower-case, A-label. */
export async function ensureDomain(app: App, domain: string): Promise<void> {
  const known = await domains.findDomainOfPod(app.store.read, domain, null)
  // It works without a check. Once the operator has asked for the first one, the others come by themselves.
  const { id } = known ?? (await makeOwnDomain(app, await newRow(app, domain, { nextCheckAt: null })))
  await ensureEd25519(app, id)
}

function makeOwnDomain(app: App, made: NewDomain): Promise<DomainRow> {
  return app.store.write(async db => {
    const known = await domains.findDomainOfPod(db, made.row.domain, null)
    return known ?? insertNew(app, db, made)
  })
}

/** A row to be, and its key, which is sealed in the write. */
interface NewDomain {
  readonly row: Omit<DomainRow, 'dkimPrivateKey'>
  readonly privateKeyPem: string
}

async function insertNew(app: App, db: WriteDb, { row, privateKeyPem }: NewDomain): Promise<DomainRow> {
  const dkimPrivateKey = await sealInWrite(db, app.secrets, secretOf.domainDkim(row.id), privateKeyPem)
  const whole = { ...row, dkimPrivateKey }
  await domains.insertDomain(db, whole)
  return whole
}

async function newRow(app: App, domain: string, more: Partial<DomainRow>): Promise<NewDomain> {
  const key = await generateDkimKey()
  const id = app.ids.next()
  const createdAt = app.clock.now().toISOString()
  const row = {
    id,
    domain,
    podId: null,
    selector,
    dkimPublicKey: key.publicKeyBase64,
    createdAt,
    status: 'pending',
    recordStatuses: '{}',
    warnings: '[]',
    losses: 0,
    verifiedAt: null,
    updatedAt: createdAt,
    checkedAt: null,
    checkingSince: createdAt,
    checkingUntil: null,
    nextCheckAt: isoAfter(new Date(createdAt), domainCheckFirstMs),
    problem: null,
    found: '{}',
    dkimSince: createdAt,
    ...more,
  }
  return { row, privateKeyPem: key.privateKeyPem }
}

/**
 * Adds a domain and checks its records for the first time, for at most dnsTimeoutMs, because the answer advises what to publish. A
 * pod key adds to its own pod. Others may have added the domain, too, as long as none of them is verified.
 * @throws Problem `unregistrable_domain`, `domain_exists`, `domain_under_review`, `domain_limit_reached`; `invalid_pod`, also
 * to a pod key that names another pod
 */
export async function createDomain(app: App, caller: Caller, request: DomainCreation): Promise<Domain> {
  const domain = requireRegistrable(request.domain, app.config.hostname)
  // Looked up before too, since a key costs a tenth of a second of a core.
  await requireRoom(app, app.store.read, domain, await podForDomain(app.store.read, caller, request.podId))
  const made = await newRow(app, domain, {})
  const row = await app.store.write(async db => {
    const podId = await podForDomain(db, caller, request.podId)
    await requireRoom(app, db, domain, podId)
    return insertNew(app, db, { ...made, row: { ...made.row, podId } })
  })
  if (!hasLocalName(app.config)) {
    const checked = await runDomainCheck(app, row.id, false, dnsTimeoutMs)
    return shown(app, app.store.read, checked.row)
  }
  await ensureEd25519(app, row.id)
  return shown(app, app.store.read, row)
}

/** Whether a pod (null: the account) may have another domain, of this name. */
async function requireRoom(app: App, db: Db, domain: string, podId: string | null): Promise<void> {
  if (domain === app.config.account_domain || (await domains.findDomainOfPod(db, domain, podId))) {
    throw new Problem('domain_exists')
  }
  // Who is held must not get rid of it by adding the domain anew.
  if (await domains.isDomainHeld(db, domain)) throw new Problem('domain_under_review')
  const claim = await domains.findDomainClaim(db, domain)
  if (claim && claim.status !== 'failed') throw new Problem('domain_exists')
  if (podId === null) return
  const limit = app.config.limits.unverified_domains_per_pod
  if ((await domains.countUnverifiedDomains(db, podId)) < limit) return
  const message = `The pod has ${limit} domains that are not verified, and may have no more. Verify or delete some first.`
  throw new Problem('domain_limit_reached', message, { limit })
}

async function podForDomain(
  db: Db,
  caller: Caller,
  named: string | null | undefined,
): Promise<string | null> {
  if (named === undefined || named === null) return caller.podId
  const pod = await findPodByName(db, named)
  if (!pod || (caller.podId !== null && caller.podId !== pod.id)) throw new Problem('invalid_pod')
  return pod.id
}

/**
 * Newest first. A pod key sees those of its pod; the account's own domain is the operator's alone.
 * @param named those of this name; of one that can't be a domain there is none
 */
export async function listDomains(
  app: Rows,
  caller: Caller,
  page: Page,
  named?: string,
): Promise<Listed<Domain>> {
  const name = named === undefined ? undefined : (normaliseDomain(named) ?? '')
  const except = isOperator(caller) ? null : app.config.account_domain
  const { rows, total } = await domains.listDomains(
    app.store.read,
    { podId: caller.podId, name, except },
    page,
  )
  const ids = rows.map(({ id }) => id)
  const keys = await listKeysOfDomains(app.store.read, ids)
  return {
    rows: rows.map(row =>
      present(
        app,
        row,
        keys.filter(key => key.domainId === row.id),
      ),
    ),
    total,
  }
}

export async function getDomain(app: Rows, caller: Caller, id: string): Promise<Domain> {
  const db = app.store.read
  return shown(app, db, await getRow(app, db, caller, id))
}

/** A domain by its name or its id (for the operator). @throws Problem `not_found` */
export async function getDomainByName(app: Rows, nameOrId: string): Promise<Domain> {
  return shown(app, app.store.read, await getRowByName(app, nameOrId))
}

/**
 * Returns a domain with its records as DNS has them now; nothing is written (for the operator). DNS is asked for at most
 * dnsTimeoutMs. A record about which it gives no answer is shown as not known, whatever an earlier check found.
 * @throws Problem `not_found`
 */
export async function lookAtDomain(app: App, nameOrId: string): Promise<Domain> {
  const row = await getRowByName(app, nameOrId)
  const keys = await listKeysOfDomains(app.store.read, [row.id])
  if (hasLocalName(app.config)) return present(app, row, keys)
  const findings = await findRecords(app, row, keys, dnsTimeoutMs)
  const unknown = { recordStatuses: '{}', found: '{}', warnings: '[]' }
  const seen = keys.map(key => {
    const { status = 'missing', found = [] } = findings.keys.get(key.selector) ?? {}
    return { ...key, recordStatus: status, found: JSON.stringify(found) }
  })
  return present(app, { ...row, ...knownAfterCheck(unknown, findings, app.config.hostname) }, seen)
}

/**
 * Makes new DKIM keys for a domain, to be published (for the operator).
 * @throws Problem `not_found`; `invalid_request` while there are such keys already
 */
export async function rotateDomainKeys(app: App, nameOrId: string): Promise<Domain> {
  const row = await getRowByName(app, nameOrId)
  await rotateKeys(app, row)
  return shown(app, app.store.read, row)
}

/** Asks DNS now. @throws Problem `not_found`, `domain_under_review` */
export async function verifyDomain(app: App, caller: Caller, id: string): Promise<Domain> {
  const { id: known } = await getRow(app, app.store.read, caller, id)
  return shown(app, app.store.read, (await runDomainCheck(app, known, true)).row)
}

/**
 * Lets one pod use the domain, or all (null).
 * @throws Problem `not_found`, `domain_under_review`, `invalid_pod`, `domain_in_use`; `domain_exists` when the pod has added
 * it, too
 */
export async function changeDomain(
  app: App,
  caller: Caller,
  id: string,
  change: DomainChange,
): Promise<Domain> {
  return app.store.write(async db => {
    const row = await getChangeableRow(app, db, caller, id)
    if (change.podId === undefined) return shown(app, db, row)
    const podId = await podForDomain(db, caller, change.podId)
    if (podId === row.podId) return shown(app, db, row)
    if (podId !== null && hasInboxes(row) && (await domains.isDomainUsed(db, row.domain, podId))) {
      throw new Problem('domain_in_use')
    }
    if (await domains.findDomainOfPod(db, row.domain, podId)) throw new Problem('domain_exists')
    const changes = { podId, updatedAt: app.clock.now().toISOString() }
    await domains.updateDomain(db, row.id, changes)
    return shown(app, db, { ...row, ...changes })
  })
}

/** @throws Problem `not_found`, `domain_under_review`, `domain_has_inboxes` */
export async function deleteDomain(app: App, caller: Caller, id: string): Promise<void> {
  await app.store.write(async db => {
    const row = await getChangeableRow(app, db, caller, id)
    if (hasInboxes(row) && (await domains.isDomainUsed(db, row.domain))) {
      throw new Problem('domain_has_inboxes')
    }
    await domains.deleteDomain(db, row.id)
  })
}

/** Whether the inboxes in the domain of this name are in this one: a pod's row that has not the name has none. */
function hasInboxes({ verifiedAt, podId }: DomainRow): boolean {
  return verifiedAt !== null || podId === null
}

const states = ['pending', 'verified', 'failed', 'under_review']

/**
 * Holds a domain, whoever added it: nobody but the operator can change it, nobody adds it, and no inbox is made on it.
 * @throws Problem `not_found`
 */
export async function holdDomain(app: App, nameOrId: string): Promise<Domain> {
  const row = await getRowByName(app, nameOrId)
  return setReview(app, row, states, { status: 'under_review', checkingUntil: null, nextCheckAt: null })
}

/** Ends a hold; the domain is checked soon. @throws Problem `not_found`; `invalid_request` when it isn't held */
export async function approveDomain(app: App, nameOrId: string): Promise<Domain> {
  const now = app.clock.now().toISOString()
  const row = await getRowByName(app, nameOrId)
  if (row.status !== 'under_review') throw invalidRequest('', `${row.domain} is not under review`)
  const changes = { status: 'pending', problem: null, losses: 0, checkingSince: now, nextCheckAt: now }
  return setReview(app, row, ['under_review'], changes)
}

async function setReview(
  app: App,
  { id, domain }: DomainRow,
  before: readonly string[],
  changes: Partial<DomainRow>,
): Promise<Domain> {
  await app.store.write(db =>
    domains.updateDomainsNamed(db, domain, before, { ...changes, updatedAt: app.clock.now().toISOString() }),
  )
  return getDomainByName(app, id)
}

function isOperator(caller: Caller): boolean {
  return caller.keyId === null
}

async function getRow(app: Rows, db: Db, caller: Caller, id: string): Promise<DomainRow> {
  const row = isId(id) ? await domains.findDomainById(db, id.toLowerCase()) : undefined
  const isSeen =
    isOperator(caller) ||
    (row && !isAccountDomain(app, row) && (caller.podId === null || caller.podId === row.podId))
  if (!row || !isSeen) throw new Problem('not_found', 'There is no such domain.')
  return row
}

async function getChangeableRow(app: App, db: Db, caller: Caller, id: string): Promise<DomainRow> {
  const row = await getRow(app, db, caller, id)
  // Who is held must not get rid of it by adding the domain anew.
  if (row.status === 'under_review' && !isOperator(caller)) throw new Problem('domain_under_review')
  return row
}

/** @throws Problem `not_found` */
export async function getRowByName(app: Rows, nameOrId: string): Promise<DomainRow> {
  const db = app.store.read
  const row = isId(nameOrId)
    ? await domains.findDomainById(db, nameOrId.toLowerCase())
    : await findRowNamed(app, db, normaliseDomain(nameOrId) ?? '')
  if (!row) throw new Problem('not_found', `${nameOrId} is no domain of this server.`)
  return row
}

/** Of a name that several have added the one that has it, else the first. */
async function findRowNamed(app: Rows, db: Db, name: string): Promise<DomainRow | undefined> {
  return (await findHolder(app, db, name)) ?? domains.findDomain(db, name)
}

export { zoneFile } from '../../mail/domain/records.ts'
