import { zoneFile } from '../core/domains/domains.ts'
import type { Domain, DomainRecord, RecordPurpose } from '../model/domain.ts'

/** What to do about a record that was found but is wrong. */
const remedies: Record<RecordPurpose, string> = {
  mx: 'its mail goes elsewhere: add this MX, and remove the others if all mail is to come here',
  dkim: 'another key stands there: replace it by this one',
  'return-path': 'bounces go elsewhere: let this be the only MX of the name',
  spf: "it does not pass for this server's addresses: replace it, or see that the server's name leads to them",
  dmarc: 'it is no DMARC policy, or one of several: leave one',
}

/** Each record with its status and, where it is not valid, what to do; then the warnings. */
export function domainReport({ records, warnings }: Domain, unanswered: readonly RecordPurpose[]): string {
  const told = records.map(record => describe(record, unanswered.includes(record.purpose)))
  return [...told, ...warnings.map(({ message }) => `warning: ${message}`)].join('\n')
}

function describe(record: DomainRecord, isUnanswered: boolean): string {
  const heading = `${record.status.padEnd(7)}  ${record.purpose.padEnd(11)}  ${record.type} ${record.name}`
  if (isUnanswered) {
    return `${heading}\n         DNS gave no answer to this check, so this is as it was before: try again, or see to the DNS server`
  }
  if (record.status === 'valid') return heading
  const optional = record.purpose === 'dmarc' ? ' (not needed, but good to have)' : ''
  const remedy = record.status === 'invalid' ? remedies[record.purpose] : `publish this record${optional}`
  return `${heading}\n         ${remedy}:\n         ${zoneFile([record]).trimEnd()}`
}
