import { printableLine } from '../base/text.ts'
import { zoneFile } from '../core/domains/domains.ts'
import type { RecordToPublish } from '../core/domains/host-records.ts'
import { isSafeToPublish } from '../core/domains/present.ts'
import type { Domain, DomainRecord } from '../model/domain.ts'

/** Each record with its status and, where it is not valid, what to do; then the warnings. */
export function domainReport({ records, warnings, problem }: Domain): string {
  const told = records.map(describe)
  const taken =
    problem === 'domain_taken' ? ['taken: another pod has this domain, whose records were found first'] : []
  return [...told, ...taken, ...warnings.map(({ message }) => `warning: ${message}`)].join('\n')
}

/** What to do before a record is published, if publishing it now may harm the mail of the domain; else undefined. */
export function cautionOf(record: RecordToPublish): string | undefined {
  if (record.purpose === 'host' || isSafeToPublish(record)) return undefined
  const found = record.found.length === 0 ? '' : ` Found: ${record.found.map(printableLine).join(', ')}`
  return `${record.problem}${found}`
}

/**
 * The records as lines of a zone file. A record that may harm the mail of the domain now is a comment, below what to do first; the warnings
 * of the domain are comments, too.
 */
export function zoneToPublish(
  records: readonly RecordToPublish[],
  warnings: Domain['warnings'] = [],
): string {
  const lines = records.map(record => {
    const caution = cautionOf(record)
    const line = zoneFile([record]).trimEnd()
    return caution === undefined ? line : `; ${caution}\n; ${line}`
  })
  return [...warnings.map(({ message }) => `; ${message}`), ...lines].join('\n')
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
