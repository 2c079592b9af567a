import { Problem } from '../../base/problem.ts'
import { isoAfter } from '../../base/time.ts'
import { checkDomain, type DomainFindings, domainCheckMs } from '../../mail/domain/check.ts'
import { type DomainNames, keyName } from '../../mail/domain/records.ts'
import type { Sources } from '../../mail/domain/sources.ts'
import { type RecordPurpose, recordPurposes } from '../../model/domain.ts'
import { listDomainKeys } from '../../store/domain-keys.ts'
import { findDomainById, listDueDomains, updateDomain } from '../../store/domains.ts'
import type { DomainKeyRow, DomainRow } from '../../store/tables.ts'
import type { App, Rows } from '../app/app.ts'
import { recordEvent } from '../events/record.ts'
import { isTaken, takeClaim } from './claim.ts'
import { domainChecksAtOnce, ensureEd25519, settleKeys, shownKey } from './keys.ts'
import { changesAfterCheck, domainCheckFirstMs } from './outcome.ts'
import { ownStsId } from './own-sts.ts'

/** How much longer than its check a domain is shown as being checked, should the process end within it. */
const markMs = domainCheckMs + 2_000

/**
 * Asks DNS for the records of a domain and writes down the result, with its event.
 * @param isAsked whether somebody asked for this check: they may have published the records now, so the gaps between checks
 * begin anew
 * @param timeoutMs how long DNS is asked
 * @returns what DNS gave no answer about, too: records by their purpose, and those of further keys by their names
 * @throws Problem `not_found` when it is gone, `domain_under_review`
 */
export async function runDomainCheck(
  app: App,
  id: string,
  isAsked: boolean,
  timeoutMs?: number,
): Promise<{ row: DomainRow; unanswered: RecordPurpose[]; unansweredKeys: string[] }> {
  const started = app.clock.now()
  const startedAt = started.toISOString()
  const row = await app.store.write(async db => {
    const found = await requireCheckable(await findDomainById(db, id))
    // The next time is set before the network is touched: a check that can't end must not be repeated at once.
    const isPast = found.nextCheckAt !== null && found.nextCheckAt <= startedAt
    const marks = {
      checkingUntil: isoAfter(started, markMs),
      ...(isPast ? { nextCheckAt: isoAfter(started, domainCheckFirstMs) } : {}),
      ...(isAsked && found.status !== 'verified' ? { checkingSince: startedAt } : {}),
    }
    await updateDomain(db, id, marks)
    return found
  })
  await ensureEd25519(app, id)
  const keys = await listDomainKeys(app.store.read, id)
  const { keys: foundKeys, ...findings } = await findRecords(app, row, keys, timeoutMs)
  const { before, after } = await app.store.write(async db => {
    const before = await requireCheckable(await findDomainById(db, id))
    const now = app.clock.now()
    const settled = await settleKeys(app, db, before, foundKeys)
    const changes = changesAfterCheck({ ...before, ...settled }, findings, {
      startedAt,
      now,
      hostname: app.config.hostname,
      isTaken: await isTaken(db, before),
    })
    const after = { ...before, ...settled, ...changes }
    if (after.status === 'verified' && before.status !== 'verified') {
      for (const other of await takeClaim(db, before, now.toISOString())) await announce(app, db, other)
    }
    await updateDomain(db, id, changes)
    if (after.status !== before.status) await announce(app, db, after)
    return { before, after }
  })
  if (after.status !== before.status) {
    const { domain, status } = after
    app.log[status === 'failed' ? 'warn' : 'info']({ domain, status, ...findings }, 'domain status changed')
  }
  const asked = Object.entries(findings.records)
  const unanswered = recordPurposes.filter(purpose =>
    asked.some(([name, finding]) => name === purpose && finding === undefined),
  )
  const unansweredKeys = keys
    .filter(({ selector }) => foundKeys.get(selector)?.status === undefined)
    .map(key => keyName(row.domain, key))
  return { row: after, unanswered, unansweredKeys }
}

/** What DNS says now about the records of a domain, asked for at most `timeoutMs`. */
export function findRecords(
  app: App,
  row: DomainRow,
  keys: readonly DomainKeyRow[],
  timeoutMs?: number,
): Promise<DomainFindings> {
  const { dns, clock } = app
  return checkDomain(namesOf(app, row, keys), { dns, clock, sources: sourcesOf(app), timeoutMs })
}

async function announce(app: App, db: Parameters<typeof recordEvent>[1], row: DomainRow): Promise<void> {
  const type = row.status === 'verified' ? 'domain.verified' : 'domain.failed'
  const subject = { podId: row.podId, inboxId: null, threadId: null, messageId: null }
  await recordEvent(app, db, type, subject, {
    domainId: row.id,
    domain: row.domain,
    problem: row.problem,
    records: JSON.parse(row.recordStatuses),
  })
}

async function requireCheckable(row: DomainRow | undefined): Promise<DomainRow> {
  if (!row) throw new Problem('not_found', 'There is no such domain.')
  if (row.status === 'under_review') throw new Problem('domain_under_review')
  return row
}

/** What the records of a domain are made of. */
export function namesOf(app: Rows, row: DomainRow, keys: readonly DomainKeyRow[]): DomainNames {
  const { domain, selector, dkimPublicKey } = row
  const { hostname } = app.config
  const stsId = ownStsId(app)
  return { domain, hostname, selector, publicKeyBase64: dkimPublicKey, keys: keys.map(shownKey), stsId }
}

/** The addresses that mail leaves from for others; behind NAT those are others than ours. Mail by a smarthost leaves from it. */
export function sourcesOf({ config: { delivery } }: Pick<App, 'config'>): Sources {
  const { source_address: source, public_addresses: seen, route, ipv6: useIpv6 } = delivery
  const direct = route.filter(({ host }) => host === undefined).map(one => one.source_address)
  const set = [source, ...direct].filter(address => address !== undefined)
  const of = (isIpv6: boolean) => {
    const own = (addresses: readonly string[]) => addresses.filter(one => one.includes(':') === isIpv6)
    return own(seen).length > 0 ? own(seen) : own(set)
  }
  return { ipv4: of(false), ipv6: of(true), useIpv6 }
}

/** Checks some of the domains whose time has come; gives how many were: one that met a fault may be due as before. */
export async function checkDueDomains(app: App): Promise<number> {
  const now = app.clock.now().toISOString()
  const due = await listDueDomains(app.store.read, now, domainChecksAtOnce)
  const checks = due.map(async ({ id, domain }) => {
    try {
      await runDomainCheck(app, id, false)
      return 1
    } catch (error) {
      // Deleted or held in the meantime; a fault of ours must not keep the others from their checks.
      if (error instanceof Problem) return 1
      app.log.error({ err: error, domain }, 'domain check failed')
      return 0
    }
  })
  const done: number[] = await Promise.all(checks)
  return done.reduce((sum, one) => sum + one, 0)
}
