import { isoAfter } from '../../base/clock.ts'
import { isId } from '../../base/ids.ts'
import { limits } from '../../base/limits.ts'
import { invalidRequest, Problem } from '../../base/problem.ts'
import { normaliseDomain } from '../../mail/address/address.ts'
import { generateDkimKey } from '../../mail/compose/dkim.ts'
import { domainRecords } from '../../mail/domain/records.ts'
import type {
  Domain,
  DomainChange,
  DomainCreation,
  DomainStatus,
  RecordPurpose,
  RecordStatus,
} from '../../model/domain.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import * as domains from '../../store/domains.ts'
import type { DomainRow } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { findPodByName } from '../app/reach.ts'
import { sealInWrite, secretOf } from '../app/secrets.ts'
import { namesOf, runDomainCheck } from './checks.ts'
import { isComplete, readFound, readStatuses, readWarnings } from './outcome.ts'
import { findHolder, isAccountDomain, requireRegistrable, selector } from './usable.ts'

/** A row as it is shown. */
export function present(app: App, row: DomainRow): Domain {
  const { id, domain, podId, verifiedAt, createdAt, updatedAt } = row
  const statuses = readStatuses(row)
  const found = readFound(row)
  const records = domainRecords(namesOf(app, row)).map(record => {
    const status = statuses[record.purpose] ?? 'missing'
    return {
      ...record,
      status,
      found: found[record.purpose] ?? [],
      problem: problemOf(record.purpose, status),
    }
  })
  const status = statusOf(app, row)
  const problem = row.problem as Domain['problem']
  const warnings = readWarnings(row)
  return { id, domain, podId, status, problem, records, warnings, verifiedAt, createdAt, updatedAt }
}

/** What to do about a record that was found but is wrong. */
const remedies: Record<RecordPurpose, string> = {
  mx: 'Its mail goes elsewhere: add this MX, and remove the others if all mail is to come here.',
  dkim: 'Another key stands there: replace it by this one.',
  'return-path': 'Bounces go elsewhere: let this be the only MX of the name.',
  spf: "It does not pass for this server's addresses: replace it, or see that the server's name leads to them.",
  dmarc: 'It is no DMARC policy, or one of several: leave one.',
}

function problemOf(purpose: RecordPurpose, status: RecordStatus): string | null {
  if (status === 'valid') return null
  if (status === 'invalid') return remedies[purpose]
  return purpose === 'dmarc' ? 'Publish this record (not needed, but good to have).' : 'Publish this record.'
}

function statusOf(app: App, row: DomainRow): DomainStatus {
  const isChecked = row.checkingUntil !== null && row.checkingUntil > app.clock.now().toISOString()
  const isOpen = row.status === 'pending' || row.status === 'failed'
  // After a first check without its records it sends on, and the next check decides.
  const isInDoubt = row.status === 'verified' && !isComplete(row)
  return (isChecked && isOpen) || isInDoubt ? 'verifying' : (row.status as DomainStatus)
}

/** Makes the row of the account's own domain, unless it is there. `domain` is lower-case, A-label. */
export async function ensureDomain(app: App, domain: string): Promise<void> {
  if (await domains.findDomainOfPod(app.store.read, domain, null)) return
  // It works without a check. Once the operator has asked for the first one, the others come by themselves.
  const made = await newRow(app, domain, { nextCheckAt: null })
  await app.store.write(async db => {
    if (!(await domains.findDomainOfPod(db, domain, null))) await insertNew(app, db, made)
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
    nextCheckAt: isoAfter(new Date(createdAt), limits.domainCheckFirstMs),
    problem: null,
    found: '{}',
    ...more,
  }
  return { row, privateKeyPem: key.privateKeyPem }
}

/**
 * Adds a domain; it is checked from then on. A pod key adds to its own pod. Others may have added it, too, as long as
 * none of them is verified.
 * @throws Problem `unregistrable_domain`, `domain_exists`, `domain_under_review`, `domain_limit_reached`; `invalid_pod`, also
 * to a pod key that names another pod
 */
export async function createDomain(app: App, caller: Caller, request: DomainCreation): Promise<Domain> {
  const domain = requireRegistrable(request.domain, app.config.hostname)
  // Looked up before too, since a key costs a tenth of a second of a core.
  await requireRoom(app, app.store.read, domain, await podForDomain(app.store.read, caller, request.podId))
  const made = await newRow(app, domain, {})
  return app.store.write(async db => {
    const podId = await podForDomain(db, caller, request.podId)
    await requireRoom(app, db, domain, podId)
    return present(app, await insertNew(app, db, { ...made, row: { ...made.row, podId } }))
  })
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
  app: App,
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
    if (change.podId === undefined) return present(app, row)
    const podId = await podForDomain(db, caller, change.podId)
    if (podId === row.podId) return present(app, row)
    if (podId !== null && hasInboxes(row) && (await domains.isDomainUsed(db, row.domain, podId))) {
      throw new Problem('domain_in_use')
    }
    if (await domains.findDomainOfPod(db, row.domain, podId)) throw new Problem('domain_exists')
    const changes = { podId, updatedAt: app.clock.now().toISOString() }
    await domains.updateDomain(db, row.id, changes)
    return present(app, { ...row, ...changes })
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

async function getRow(app: App, db: Db, caller: Caller, id: string): Promise<DomainRow> {
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
export async function getRowByName(app: App, nameOrId: string): Promise<DomainRow> {
  const db = app.store.read
  const row = isId(nameOrId)
    ? await domains.findDomainById(db, nameOrId.toLowerCase())
    : await findRowNamed(app, db, normaliseDomain(nameOrId) ?? '')
  if (!row) throw new Problem('not_found', `${nameOrId} is no domain of this server.`)
  return row
}

/** Of a name that several have added the one that has it, else the first. */
async function findRowNamed(app: App, db: Db, name: string): Promise<DomainRow | undefined> {
  return (await findHolder(app, db, name)) ?? domains.findDomain(db, name)
}

export { zoneFile } from '../../mail/domain/records.ts'
