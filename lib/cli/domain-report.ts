import { printableLine } from '../base/control-characters.ts'
import { zoneFile } from '../core/domains/domains.ts'
import { isSafeToPublish } from '../core/domains/present.ts'
import type { Domain, DomainRecord } from '../model/domain.ts'

/** Each record with its status and, where it is not valid, what to do; then the warnings. */
export function domainReport({ records, warnings, problem }: Domain): string {
  const told = records.map(describe)
  const taken =
    problem === 'domain_taken' ? ['taken: another pod has this domain, whose records were found first'] : []
  return [...told, ...taken, ...warnings.map(({ message }) => `warning: ${message}`)].join('\n')
}

function describe(record: DomainRecord): string {
  // A domain is verified without it.
  const said = record.purpose === 'dmarc' && record.status !== 'valid' ? 'advised' : record.status
  const heading = `${said.padEnd(7)}  ${record.purpose.padEnd(11)}  ${record.type} ${record.name}`
  if (record.status === 'valid') return heading
  const found = record.found.map(text => `\n         found: ${printableLine(text)}`).join('')
  const line = isSafeToPublish(record) ? `\n         ${zoneFile([record]).trimEnd()}` : ''
  return `${heading}\n         ${record.problem}${line}${found}`
}
