import { zoneFile } from '../core/domains/domains.ts'
import type { Domain, DomainRecord, RecordPurpose } from '../model/domain.ts'

/** Each record with its status and, where it is not valid, what to do; then the warnings. */
export function domainReport(
  { records, warnings, problem }: Domain,
  unanswered: readonly RecordPurpose[],
): string {
  const told = records.map(record => describe(record, unanswered.includes(record.purpose)))
  const taken =
    problem === 'domain_taken' ? ['taken: another pod has this domain, whose records were found first'] : []
  return [...told, ...taken, ...warnings.map(({ message }) => `warning: ${message}`)].join('\n')
}

function describe(record: DomainRecord, isUnanswered: boolean): string {
  const heading = `${record.status.padEnd(7)}  ${record.purpose.padEnd(11)}  ${record.type} ${record.name}`
  if (isUnanswered) {
    return `${heading}\n         DNS gave no answer to this check, so this is as it was before: try again, or see to the DNS server`
  }
  if (record.status === 'valid') return heading
  const found = record.found.map(text => `\n         found: ${text}`).join('')
  return `${heading}\n         ${record.problem}\n         ${zoneFile([record]).trimEnd()}${found}`
}
