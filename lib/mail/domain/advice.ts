import type { Lookup } from '../signature/key.ts'
import { adviseCaa } from './caa-advice.ts'
import { adviseDkim } from './dkim-advice.ts'
import { adviseDmarc } from './dmarc-advice.ts'
import { orWhenUnanswered } from './find.ts'
import { type Finding, unanswered } from './finding.ts'
import type { DomainNames } from './records.ts'
import type { Sources } from './sources.ts'
import { adviseSpf } from './spf-advice.ts'
import { adviseTransport, type FetchPolicy } from './transport-advice.ts'

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
