import { createAuthoritativeDns } from '../../courier/authoritative-dns.ts'
import { adviseDomain } from '../../mail/domain/advice.ts'
import type { Finding } from '../../mail/domain/finding.ts'
import { checkHost } from '../../mail/domain/host.ts'
import { zoneFile } from '../../mail/domain/records.ts'
import type { Domain, RecordPurpose } from '../../model/domain.ts'
import type { App } from '../app/app.ts'
import { namesOf, runDomainCheck } from './checks.ts'
import { getRowByName, present } from './domains.ts'

export type { Finding }

/** A domain after a check, with all that was found about it, its host included. */
export interface Diagnosis {
  readonly domain: Domain
  readonly findings: readonly Finding[]
}

/**
 * Checks a domain as `/v1/domains/{id}/verify` does, and what is beside its records, for the operator: the name servers of
 * each zone are asked.
 * @throws Problem `not_found`, `domain_under_review`
 */
export async function diagnoseDomain(opened: App, nameOrId: string): Promise<Diagnosis> {
  const app: App = Object.create(opened, { dns: { value: createAuthoritativeDns(opened.dns) } })
  const known = await getRowByName(app, nameOrId)
  const [{ row, unanswered }, host, advice] = await Promise.all([
    runDomainCheck(app, known.id, true),
    checkHost(app.config.hostname, app.dns),
    adviseDomain(namesOf(app, known), app.dns),
  ])
  const domain = present(app, row)
  const told = new Set(advice.map(one => one.subject))
  const records = findingsOf(domain, unanswered)
  // What advice says of a record is closer than that it is wrong.
  const others = records.filter(one => !(one.code.endsWith('_invalid') && told.has(one.subject)))
  return { domain, findings: [...host, ...others, ...advice] }
}

function findingsOf(domain: Domain, unanswered: readonly RecordPurpose[]): Finding[] {
  const records = domain.records.flatMap((record): Finding[] => {
    const { purpose, type, name, status, found, problem } = record
    if (unanswered.includes(purpose)) {
      const message = `DNS gave no answer for the ${type} of ${name}: try again, or see to the DNS server`
      return [{ level: 'warning', code: 'dns_unanswered', subject: name, message, paste: null }]
    }
    if (status === 'valid') return []
    const seen = found.length === 0 ? '' : ` Found: ${found.join(' | ')}`
    return [
      {
        level: purpose === 'dmarc' ? 'warning' : 'error',
        code: `${purpose.replace('-', '_')}_${status}`,
        subject: name,
        message: `${problem}${seen}`,
        paste: zoneFile([record]).trimEnd(),
      },
    ]
  })
  const warnings = domain.warnings.map(
    ({ code, message }): Finding => ({
      level: 'warning',
      code,
      subject: domain.domain,
      message,
      paste: null,
    }),
  )
  const taken: Finding[] =
    domain.problem === 'domain_taken'
      ? [
          {
            level: 'error',
            code: 'domain_taken',
            subject: domain.domain,
            message: 'another pod has this domain, whose records were found first',
            paste: null,
          },
        ]
      : []
  return [...records, ...taken, ...warnings]
}
