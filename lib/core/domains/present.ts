import { recordFoundLength } from '../../base/lengths.ts'
import { explainSlip, strictestDmarc } from '../../mail/domain/judgement.ts'
import { type DomainRecord, domainRecords, keyName } from '../../mail/domain/records.ts'
import type { Domain, DomainStatus, RecordPurpose, RecordStatus } from '../../model/domain.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { listDomainKeys } from '../../store/domain-keys.ts'
import type { DomainKeyRow, DomainRow } from '../../store/tables.ts'
import type { Rows } from '../app/app.ts'
import { namesOf } from './checks.ts'
import { isComplete, readFound, readStatuses, readWarnings } from './outcome.ts'

/** A domain as the API shows it, with the keys of its own. */
export function present(app: Rows, row: DomainRow, keys: readonly DomainKeyRow[]): Domain {
  const { id, domain, podId, verifiedAt, createdAt, updatedAt } = row
  const statuses = readStatuses(row)
  const allFound = readFound(row)
  const records = domainRecords(namesOf(app, row, keys)).flatMap(record => {
    const { purpose } = record
    const key = keys.find(one => purpose !== 'dkim' && keyName(domain, one) === record.name)
    const known = (key?.recordStatus as RecordStatus | undefined) ?? statuses[purpose]
    const found = key ? (JSON.parse(key.found) as string[]) : (allFound[purpose] ?? [])
    const value = purpose === 'dmarc' ? dmarcValue(record, known, found) : record.value
    if (value === undefined) return []
    const status = known ?? 'missing'
    const slip = status === 'invalid' ? explainSlip(record, found) : undefined
    const advice = purpose === 'mx' && isNullMx(found) ? nullMx : problemOf(purpose, status)
    const problem = known === undefined ? notKnown : (slip ?? advice)
    return { ...record, value, status, found, problem }
  })
  const status = statusOf(app, row)
  const problem = row.problem as Domain['problem']
  const warnings = readWarnings(row)
  return { id, domain, podId, status, problem, records, warnings, verifiedAt, createdAt, updatedAt }
}

/**
 * The value of the DMARC record, with which nobody who publishes each record as it stands weakens a policy: the record that was found, or
 * ours where no policy holds. Undefined where a policy is inherited, the found record is not known whole, or DNS has not answered yet.
 */
function dmarcValue(
  { value }: DomainRecord,
  status: RecordStatus | undefined,
  found: readonly string[],
): string | undefined {
  if (status === undefined) return undefined
  const theirs = strictestDmarc(found)
  if (theirs === undefined) return status === 'valid' ? undefined : value
  return theirs.length < recordFoundLength ? theirs : undefined
}

const notKnown =
  'Not known yet: DNS did not say what is published under this name. Check the domain again before you publish this record.'

/**
 * Whether publishing the record harms nothing that was found: an MX next to another server's splits the mail, and a second DMARC record
 * ends the policy.
 */
export function isSafeToPublish(record: Domain['records'][number]): boolean {
  const { purpose, status, found, problem } = record
  if (purpose === 'mx' && problem === notKnown) return false
  if (status !== 'invalid') return true
  if (purpose === 'dmarc') return strictestDmarc(found) === undefined
  return purpose !== 'mx' || explainSlip(record, found) !== undefined
}

/** RFC 7505 */
function isNullMx(found: readonly string[]): boolean {
  return found.length > 0 && found.every(text => /^\d+ \.?$/.test(text))
}

const nullMx =
  'A null MX (`0 .`) says that the domain receives no mail (RFC 7505). Delete it, then publish this record.'

/** What to do about a record that was found but is wrong. */
const remedies: Record<RecordPurpose, string> = {
  mx: 'Another server receives its mail. With this MX next to the others, mail is split or lost. Use a subdomain (agents.<domain>). To move all mail here, remove the other MX records first, then publish this one.',
  dkim: 'Another key stands there: replace it by this one.',
  'return-path': 'Bounces go elsewhere: let this be the only MX of the name.',
  spf: "It does not pass for this server's addresses: replace it, or see that the server's name leads to them.",
  dmarc: 'The record is no DMARC policy, or there are several. Correct it, and keep one: the strictest.',
  'mta-sts': 'Another id stands there, or several: replace them by this one.',
  'mta-sts-host': "The name leads elsewhere: let it lead to this server's proxy.",
  'dkim-ed25519': 'Another key stands there: replace it by this one.',
  'dkim-next': 'Another key stands there: replace it by this one.',
  'dkim-previous': 'Another key stands there: mail that is on its way was signed by this one.',
}

/** The domain with its keys as they are now. */
export async function shown(app: Rows, db: Db, row: DomainRow): Promise<Domain> {
  return present(app, row, await listDomainKeys(db, row.id))
}

/** Whether a domain can't be verified without the record. */
export function isNeeded(purpose: RecordPurpose): boolean {
  return ['mx', 'dkim', 'spf', 'return-path'].includes(purpose)
}

/** What is wrong with a record, and what to do about it. */
function problemOf(purpose: RecordPurpose, status: RecordStatus): string | null {
  if (status === 'valid') return null
  if (status === 'invalid') return remedies[purpose]
  if (purpose === 'dkim-previous')
    return 'It signed until lately: leave its record as long as it is listed here.'
  if (purpose === 'dkim-next') return 'Publish this record; the key is used as soon as it is found.'
  if (purpose === 'dmarc')
    return 'Publish this record. The domain is verified without it, but large providers refuse its mail.'
  return isNeeded(purpose) ? 'Publish this record.' : 'Publish this record (not needed, but good to have).'
}

function statusOf(app: Rows, row: DomainRow): DomainStatus {
  const isChecked = row.checkingUntil !== null && row.checkingUntil > app.clock.now().toISOString()
  const isOpen = row.status === 'pending' || row.status === 'failed'
  // After a first check without its records it sends on, and the next check decides.
  const isInDoubt = row.status === 'verified' && !isComplete(row)
  return (isChecked && isOpen) || isInDoubt ? 'verifying' : (row.status as DomainStatus)
}
