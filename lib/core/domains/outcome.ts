import { isoAfter } from '../../base/time.ts'
import { competingHostsNamed } from '../../mail/domain/advice.ts'
import type { DomainFindings } from '../../mail/domain/check.ts'
import type { DomainWarning, RecordPurpose, RecordStatus } from '../../model/domain.ts'
import type { DomainRow } from '../../store/tables.ts'

/** How often a domain that isn't verified is checked at first, and how long so; the gaps grow from there to a day. */
export const domainCheckFirstMs = 60_000
const domainCheckFirstHourMs = 3_600_000
const domainCheckDayMs = 86_400_000
/** How long after it was added a domain whose records never were right is `failed` and no longer `pending`. */
const domainPendingMs = 3 * 86_400_000
/** Checks in a row without its records after which a verified domain is `failed`. */
const domainLosses = 2

/** What a domain can't be verified without. */
const needed = ['mx', 'dkim', 'spf', 'return-path'] as const satisfies RecordPurpose[]

export type RecordStatuses = Partial<Record<RecordPurpose, RecordStatus>>

export function readStatuses(row: Pick<DomainRow, 'recordStatuses'>): RecordStatuses {
  return JSON.parse(row.recordStatuses) as RecordStatuses
}

/** What stood in DNS under the name of each record. */
export function readFound(row: Pick<DomainRow, 'found'>): Partial<Record<RecordPurpose, string[]>> {
  return JSON.parse(row.found) as Partial<Record<RecordPurpose, string[]>>
}

/** Whether every record that the domain needs was right when it was asked for last. */
export function isComplete(row: DomainRow): boolean {
  const statuses = readStatuses(row)
  return needed.every(purpose => statuses[purpose] === 'valid')
}

export function readWarnings(row: DomainRow): DomainWarning[] {
  return JSON.parse(row.warnings) as DomainWarning[]
}

/** The records and warnings of a domain after a check. A record about which DNS gave no answer keeps its status. */
export function knownAfterCheck(
  row: Pick<DomainRow, 'recordStatuses' | 'found' | 'warnings'>,
  { records, found, competingHosts }: Pick<DomainFindings, 'records' | 'found' | 'competingHosts'>,
  hostname: string,
): Pick<DomainRow, 'recordStatuses' | 'found' | 'warnings'> {
  const known = Object.entries(records).filter(([, finding]) => finding !== undefined)
  return {
    recordStatuses: JSON.stringify({ ...readStatuses(row), ...Object.fromEntries(known) }),
    found: JSON.stringify({ ...readFound(row), ...found }),
    warnings:
      competingHosts === undefined ? row.warnings : JSON.stringify(warningsOf(competingHosts, hostname)),
  }
}

/**
 * What a check makes of a domain. A record about which DNS gave no answer keeps its status. So a domain is verified only by
 * a check that found all it needs, and a verified one fails only by records that a check found to be gone.
 * @param startedAt of the check; one that began before another ended counts no loss a second time
 * @param isTaken whether another has the name
 */
export function changesAfterCheck(
  row: DomainRow,
  findings: Omit<DomainFindings, 'keys'>,
  { startedAt, now, hostname, isTaken }: { startedAt: string; now: Date; hostname: string; isTaken: boolean },
): Partial<DomainRow> {
  const at = now.toISOString()
  const { records } = findings
  const isRight = needed.every(purpose => records[purpose] === 'valid')
  const isWrong = needed.some(purpose => records[purpose] !== undefined && records[purpose] !== 'valid')
  const known = knownAfterCheck(row, findings, hostname)
  const isBegun = [readStatuses(row), readStatuses(known)].some(each =>
    needed.some(purpose => each[purpose] === 'valid'),
  )
  const after = {
    ...row,
    problem: isTaken ? 'domain_taken' : null,
    ...(isTaken
      ? { status: 'failed' }
      : statusAfterCheck(row, { isRight, isWrong, isBegun, startedAt, now })),
  }
  const isChanged =
    after.status !== row.status ||
    known.recordStatuses !== row.recordStatuses ||
    known.warnings !== row.warnings
  return {
    status: after.status,
    problem: after.problem,
    losses: after.losses,
    verifiedAt: after.verifiedAt,
    checkingSince: after.checkingSince,
    ...known,
    updatedAt: isChanged ? at : row.updatedAt,
    checkedAt: at,
    checkingUntil: null,
    nextCheckAt: nextCheckAt(after, now),
  }
}

/** What a check says in all: every needed record is right; one is missing or wrong; one is ours, now or before. */
interface Judged {
  readonly isRight: boolean
  readonly isWrong: boolean
  readonly isBegun: boolean
  readonly startedAt: string
  readonly now: Date
}

function statusAfterCheck(
  row: DomainRow,
  { isRight, isWrong, isBegun, startedAt, now }: Judged,
): Partial<DomainRow> {
  const at = now.toISOString()
  if (isRight) {
    return { status: 'verified', losses: 0, verifiedAt: row.status === 'verified' ? row.verifiedAt : at }
  }
  if (row.status === 'verified') {
    if (!isWrong) return {}
    const isNew = row.checkedAt === null || row.checkedAt <= startedAt
    const losses = row.losses + (isNew ? 1 : 0)
    return losses < domainLosses ? { losses } : { status: 'failed', losses: 0, checkingSince: at }
  }
  // From when it was added: who asks for checks does not put it off.
  const isLate = now.getTime() - Date.parse(row.createdAt) >= domainPendingMs
  // Whoever has just added a domain cannot have published all of its records.
  const hasHadTime = row.checkedAt !== null
  return row.status === 'pending' && ((isBegun && isWrong && hasHadTime) || isLate)
    ? { status: 'failed' }
    : {}
}

function ageOf({ checkingSince }: DomainRow, now: Date): number {
  return now.getTime() - Date.parse(checkingSince)
}

/** Every minute in the first hour, then after a tenth of the time that has passed, up to a day; verified ones once a day. */
function nextCheckAt(row: DomainRow, now: Date): string {
  const age = ageOf(row, now)
  if (row.status === 'verified') return isoAfter(now, domainCheckDayMs)
  if (age < domainCheckFirstHourMs) return isoAfter(now, domainCheckFirstMs)
  return isoAfter(now, Math.min(age / 10, domainCheckDayMs))
}

function warningsOf(competing: readonly string[], hostname: string): DomainWarning[] {
  if (competing.length === 0) return []
  const hosts = competing.slice(0, competingHostsNamed)
  const more = competing.length > hosts.length ? ` and ${competing.length - hosts.length} more` : ''
  const message = `${hosts.join(', ')}${more} receives mail of this domain instead of ${hostname}, and mail to your inboxes bounces there: all of it if its priority number is lower than that of ${hostname}, part of it if equal. If people read mail there, use a subdomain here instead. If not, remove these MX records, or give them a higher priority number.`
  return [{ code: 'competing_mx', message, hosts }]
}
