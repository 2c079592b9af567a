import type { Lookup } from '../signature/key.ts'
import { adviseCaa } from './caa-advice.ts'
import { findMx } from './check.ts'
import { adviseDkim } from './dkim-advice.ts'
import { adviseDmarc } from './dmarc-advice.ts'
import { bounded, orWhenUnanswered } from './find.ts'
import { type Finding, finding, unanswered } from './finding.ts'
import { otherHosts } from './judgement.ts'
import type { DomainNames } from './records.ts'
import type { Sources } from './sources.ts'
import { adviseSpf } from './spf-advice.ts'
import { adviseTransport, type FetchPolicy } from './transport-advice.ts'

/** Hosts that a warning names. */
export const competingHostsNamed = 20

interface Asked {
  readonly lookup: Lookup
  readonly sources: Sources
  /** The ACME directory that certificates are gotten from. */
  readonly acmeDirectory: string | undefined
  readonly fetchPolicy: FetchPolicy
}

/**
 * What of a domain's DNS is wrong or missing beside the records that it needs: why a key does not pass, SPF and DMARC that others
 * pass over, and what is good to have. What DNS gives no answer for is told as that.
 */
export async function adviseDomain(
  names: DomainNames,
  { lookup, sources, acmeDirectory, fetchPolicy }: Asked,
): Promise<Finding[]> {
  const { domain, hostname } = names
  const parts: readonly (readonly [subject: string, what: string, advice: Promise<Finding[]>])[] = [
    [domain, 'the MX', adviseMx(names, lookup)],
    [domain, 'SPF', adviseSpf(names, lookup, sources)],
    [domain, 'the DKIM key', adviseDkim(names, lookup)],
    [domain, 'DMARC', adviseDmarc(domain, lookup)],
    [domain, 'MTA-STS and TLS reports', adviseTransport(names, lookup, fetchPolicy)],
    [hostname, 'CAA', adviseCaa(hostname, acmeDirectory, lookup)],
  ]
  const found = await Promise.all(
    parts.map(([subject, what, advice]) => orWhenUnanswered(advice, [unanswered(subject, what)])),
  )
  return found.flat()
}

/** Whether other servers beside ours get the domain's mail, and how much of it (RFC 5321 §5.1). */
async function adviseMx({ domain, hostname }: DomainNames, lookup: Lookup): Promise<Finding[]> {
  const mx = await findMx(lookup, domain)
  const tell = (
    level: Finding['level'],
    isMeant: (theirs: number, ours: number) => boolean,
    messageOf: (hosts: string) => string,
  ) => {
    const hosts = otherHosts(hostname, mx, isMeant)
    const shown = bounded(hosts.slice(0, competingHostsNamed)).join(', ')
    return hosts.length === 0 ? [] : [finding(level, 'competing_mx', domain, messageOf(shown))]
  }
  const remedy = `if people read mail there, use a subdomain such as agents.${domain} here instead; if not, remove these MX records, or give them a higher priority number than that of ${hostname}`
  const isNullBeside = mx.length > 1 && mx.some(({ exchange }) => exchange === '' || exchange === '.')
  const nullBeside =
    'a null MX (`0 .`) next to other MX records is not valid, and some senders then send nothing (RFC 7505): delete it'
  return [
    ...(isNullBeside ? [finding('error', 'competing_mx', domain, nullBeside)] : []),
    ...tell(
      'error',
      (theirs, ours) => theirs < ours,
      hosts =>
        `all mail to this domain goes to ${hosts}, and to ${hostname} only what these can not be reached for: ${remedy}`,
    ),
    ...tell(
      'warning',
      (theirs, ours) => theirs === ours,
      hosts => `part of the mail to this domain goes to ${hosts} instead of ${hostname}: ${remedy}`,
    ),
    ...tell(
      'hint',
      (theirs, ours) => theirs > ours,
      hosts =>
        `mail to this domain goes to ${hosts} while ${hostname} can not be reached, and some senders go there first: remove these MX records unless they pass it on to here`,
    ),
  ]
}
