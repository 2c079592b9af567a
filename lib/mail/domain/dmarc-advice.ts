import { recordsFound } from '../../base/lengths.ts'
import { dkimRecordLength, type Lookup } from '../signature/key.ts'
import { bounded, findTexts, orWhenUnanswered } from './find.ts'
import { type Finding, finding, unanswered } from './finding.ts'
import { readTags, strictestDmarc } from './judgement.ts'
import { zoneFile } from './records.ts'

/** Whether one policy stands at the domain, and whether those that it names for its reports have said that they take them. */
export async function adviseDmarc(domain: string, lookup: Lookup): Promise<Finding[]> {
  const subject = `_dmarc.${domain}`
  const policies = (await findTexts(lookup, subject)).filter(text => /^v=DMARC1\b/i.test(text))
  if (policies.length > 1) {
    const message = `${policies.length} DMARC policies are published here, so receivers ignore all of them (RFC 7489 §6.6.3). Keep the strictest and delete the others`
    const strictest = strictestDmarc(policies) ?? ''
    const [value = ''] = bounded([strictest])
    const isWhole = value === strictest
    const record = { type: 'TXT', name: subject, value, priority: null }
    const paste = isWhole ? zoneFile([record]).trimEnd() : null
    return [finding('error', 'dmarc_several', subject, message, paste)]
  }
  const tags = readTags(policies[0] ?? '')
  const targets = `${tags.get('rua') ?? ''},${tags.get('ruf') ?? ''}`
    .slice(0, dkimRecordLength)
    .split(',')
    .map(uri => /^\s*mailto:[^@\s]+@([a-z0-9.-]+)/i.exec(uri)?.[1]?.toLowerCase().replace(/\.$/, ''))
    .filter(host => host !== undefined)
    .filter(host => host !== domain && !host.endsWith(`.${domain}`) && !domain.endsWith(`.${host}`))
  const asked = [...new Set(targets)].slice(0, recordsFound)
  return (await Promise.all(asked.map(host => judge(domain, host, lookup)))).flat()
}

async function judge(domain: string, host: string, lookup: Lookup): Promise<Finding[]> {
  const name = `${domain}._report._dmarc.${host}`
  const texts = await orWhenUnanswered(findTexts(lookup, name), undefined)
  if (texts === undefined) return [unanswered(name, `whether ${host} takes reports about ${domain}`)]
  if (texts.some(text => /^v=DMARC1\b/i.test(text))) return []
  const message = `${host} has not said that it takes reports about ${domain} (RFC 7489 §7.1), so it gets none: this must stand in its zone`
  const paste = zoneFile([{ type: 'TXT', name, value: 'v=DMARC1', priority: null }]).trimEnd()
  return [finding('warning', 'dmarc_reports_not_authorised', `_dmarc.${domain}`, message, paste)]
}
