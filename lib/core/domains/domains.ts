import { isoAfter } from '../../base/clock.ts'
import { isId } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { generateDkimKey } from '../../mail/compose/dkim.ts'
import { domainRecords } from '../../mail/domain/records.ts'
import type { Domain, DomainChange, DomainCreation, DomainStatus, RecordPurpose } from '../../model/domain.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import * as domains from '../../store/domains.ts'
import type { DomainRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { findPodByName } from '../app/reach.ts'
import { secretOf } from '../app/secrets.ts'
import { namesOf, runDomainCheck } from './checks.ts'
import { readStatuses, readWarnings } from './outcome.ts'
import { requireRegistrable, selector } from './usable.ts'

function present(app: App, row: DomainRow): Domain {
  const { id, domain, podId, verifiedAt, createdAt, updatedAt } = row
  const statuses = readStatuses(row)
  const records = domainRecords(namesOf(app, row)).map(record => ({
    ...record,
    status: statuses[record.purpose] ?? 'missing',
  }))
  const status = statusOf(app, row)
  return { id, domain, podId, status, records, warnings: readWarnings(row), verifiedAt, createdAt, updatedAt }
}

function statusOf(app: App, row: DomainRow): DomainStatus {
  const isChecked = row.checkingUntil !== null && row.checkingUntil > app.clock.now().toISOString()
  const isOpen = row.status === 'pending' || row.status === 'failed'
  return isChecked && isOpen ? 'verifying' : (row.status as DomainStatus)
}

/** Makes the row of the account's own domain, unless it is there. `domain` is lower-case, A-label. */
export async function ensureDomain(app: App, domain: string): Promise<void> {
  if (await domains.findDomain(app.store.read, domain)) return
  // It works without a check. Once the operator has asked for the first one, the others come by themselves.
  const row = await newRow(app, domain, { nextCheckAt: null })
  await app.store.write(async db => {
    if (!(await domains.findDomain(db, domain))) await domains.insertDomain(db, row)
  })
}

async function newRow(app: App, domain: string, more: Partial<DomainRow>): Promise<DomainRow> {
  const key = await generateDkimKey()
  const id = app.ids.next()
  const createdAt = app.clock.now().toISOString()
  return {
    id,
    domain,
    podId: null,
    selector,
    dkimPrivateKey: app.secrets.seal(secretOf.domainDkim(id), key.privateKeyPem),
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
    nextCheckAt: isoAfter(new Date(createdAt), limits.domainCheckFirstMs),
    ...more,
  }
}

/**
 * Adds a domain; it is checked from then on. A pod key adds to its own pod.
 * @throws Problem `unregistrable_domain`, `domain_exists`; `invalid_pod`, also to a pod key that names another pod;
 * `forbidden` to a pod key that asks for all pods
 */
export async function createDomain(app: App, caller: Caller, request: DomainCreation): Promise<Domain> {
  const domain = requireRegistrable(request.domain, app.config.hostname)
  // Looked up before too, since a key costs a tenth of a second of a core.
  await requireNew(app.store.read, domain)
  const row = await newRow(app, domain, {})
  return app.store.write(async db => {
    const podId = await podForDomain(db, caller, request.podId)
    await requireNew(db, domain)
    await domains.insertDomain(db, { ...row, podId })
    return present(app, { ...row, podId })
  })
}

async function requireNew(db: Db, domain: string): Promise<void> {
  if (await domains.findDomain(db, domain)) throw new Problem('domain_exists')
}

async function podForDomain(
  db: Db,
  caller: Caller,
  named: string | null | undefined,
): Promise<string | null> {
  if (named === undefined) return caller.podId
  if (named === null) {
    if (caller.podId !== null) throw new Problem('forbidden', 'A pod key adds domains to its pod only.')
    return null
  }
  const pod = await findPodByName(db, named)
  if (!pod || (caller.podId !== null && caller.podId !== pod.id)) throw new Problem('invalid_pod')
  return pod.id
}

/** Newest first. A pod key sees those of its pod; the account's own domain is the operator's alone. */
export async function listDomains(app: App, caller: Caller, page: Page): Promise<Listed<Domain>> {
  const except = isOperator(caller) ? null : app.config.account_domain
  const { rows, total } = await domains.listDomains(app.store.read, { podId: caller.podId, except }, page)
  return { rows: rows.map(row => present(app, row)), total }
}

export async function getDomain(app: App, caller: Caller, id: string): Promise<Domain> {
  return present(app, await getRow(app, app.store.read, caller, id))
}

/** A domain by its name or its id (for the operator). @throws Problem `not_found` */
export async function getDomainByName(app: App, nameOrId: string): Promise<Domain> {
  return present(app, await getRowByName(app, nameOrId))
}

/** Asks DNS now. @throws Problem `not_found`, `domain_under_review` */
export async function verifyDomain(app: App, caller: Caller, id: string): Promise<Domain> {
  const { id: known } = await getRow(app, app.store.read, caller, id)
  return present(app, (await runDomainCheck(app, known, true)).row)
}

/**
 * The same for the operator, who is also told which records DNS gave no answer for. These keep the status of an earlier
 * check.
 */
export async function checkDomainByName(
  app: App,
  nameOrId: string,
): Promise<{ domain: Domain; unanswered: RecordPurpose[] }> {
  const { row, unanswered } = await runDomainCheck(app, (await getRowByName(app, nameOrId)).id, true)
  return { domain: present(app, row), unanswered }
}

/**
 * Lets one pod use the domain, or all (null).
 * @throws Problem `not_found`, `domain_under_review`, `invalid_pod`, `domain_in_use`
 */
export async function changeDomain(
  app: App,
  caller: Caller,
  id: string,
  change: DomainChange,
): Promise<Domain> {
  return app.store.write(async db => {
    const row = await getChangeableRow(app, db, caller, id)
    if (change.podId === undefined) return present(app, row)
    const podId = await podForDomain(db, caller, change.podId)
    if (podId === row.podId) return present(app, row)
    if (podId !== null && (await domains.isDomainUsed(db, row.domain, podId))) {
      throw new Problem('domain_in_use')
    }
    const changes = { podId, updatedAt: app.clock.now().toISOString() }
    await domains.updateDomain(db, row.id, changes)
    return present(app, { ...row, ...changes })
  })
}

/** @throws Problem `not_found`, `domain_under_review`, `domain_has_inboxes` */
export async function deleteDomain(app: App, caller: Caller, id: string): Promise<void> {
  await app.store.write(async db => {
    const row = await getChangeableRow(app, db, caller, id)
    if (await domains.isDomainUsed(db, row.domain)) throw new Problem('domain_has_inboxes')
    await domains.deleteDomain(db, row.id)
  })
}

/** Holds a domain: nobody but the operator can change it, and no inbox is made on it. @throws Problem `not_found` */
export async function holdDomain(app: App, nameOrId: string): Promise<Domain> {
  return setReview(app, nameOrId, { status: 'under_review', checkingUntil: null, nextCheckAt: null })
}

/** Ends a hold; the domain is checked soon. @throws Problem `not_found`; `invalid_request` when it isn't held */
export async function approveDomain(app: App, nameOrId: string): Promise<Domain> {
  const now = app.clock.now().toISOString()
  const row = await getRowByName(app, nameOrId)
  if (row.status !== 'under_review') throw invalidRequest('', `${row.domain} is not under review`)
  return setReview(app, row.id, { status: 'pending', losses: 0, checkingSince: now, nextCheckAt: now })
}

async function setReview(app: App, nameOrId: string, changes: Partial<DomainRow>): Promise<Domain> {
  const { id } = await getRowByName(app, nameOrId)
  await app.store.write(db =>
    domains.updateDomain(db, id, { ...changes, updatedAt: app.clock.now().toISOString() }),
  )
  return getDomainByName(app, id)
}

function isOperator(caller: Caller): boolean {
  return caller.keyId === null
}

async function getRow(app: App, db: Db, caller: Caller, id: string): Promise<DomainRow> {
  const row = isId(id) ? await domains.findDomainById(db, id.toLowerCase()) : undefined
  const isSeen =
    isOperator(caller) ||
    (row?.domain !== app.config.account_domain && (caller.podId === null || caller.podId === row?.podId))
  if (!row || !isSeen) throw new Problem('not_found', 'There is no such domain.')
  return row
}

async function getChangeableRow(app: App, db: Db, caller: Caller, id: string): Promise<DomainRow> {
  const row = await getRow(app, db, caller, id)
  // Who is held must not get rid of it by adding the domain anew.
  if (row.status === 'under_review' && !isOperator(caller)) throw new Problem('domain_under_review')
  return row
}

async function getRowByName(app: App, nameOrId: string): Promise<DomainRow> {
  const db = app.store.read
  const row = isId(nameOrId)
    ? await domains.findDomainById(db, nameOrId.toLowerCase())
    : await domains.findDomain(db, normaliseDomain(nameOrId) ?? '')
  if (!row) throw new Problem('not_found', `${nameOrId} is no domain of this server.`)
  return row
}

export { zoneFile } from '../../mail/domain/records.ts'
