import type { Lookup } from '../signature/key.ts'
import { findTexts } from './find.ts'
import { type Finding, finding } from './finding.ts'
import { readTags } from './judgement.ts'
import { allowsHost, readStsId, readStsPolicy } from './mta-sts.ts'
import { zoneFile } from './records.ts'

/** The file of a domain's MTA-STS policy, or why it can't be had, as others find it. */
export type FetchPolicy = (domain: string) => Promise<{ readonly text: string } | { readonly error: string }>

/** What a domain says of TLS to its mail server: the policy of MTA-STS, and where reports go. */
export async function adviseTransport(
  { domain, hostname }: { readonly domain: string; readonly hostname: string },
  lookup: Lookup,
  fetchPolicy: FetchPolicy,
): Promise<Finding[]> {
  const [sts, reports] = await Promise.all([
    findTexts(lookup, `_mta-sts.${domain}`),
    findTexts(lookup, `_smtp._tls.${domain}`),
  ])
  return [...(await judgePolicy({ domain, hostname }, sts, fetchPolicy)), ...judgeReports(domain, reports)]
}

async function judgePolicy(
  { domain, hostname }: { readonly domain: string; readonly hostname: string },
  texts: readonly string[],
  fetchPolicy: FetchPolicy,
): Promise<Finding[]> {
  const subject = `_mta-sts.${domain}`
  if (!texts.some(text => /^v=STSv1\b/i.test(text))) {
    const message =
      'there is no MTA-STS policy: others may deliver here without TLS, or to who intercepts (RFC 8461). mta_sts.mode of the configuration has mailboxd serve one'
    return [finding('hint', 'mta_sts_missing', domain, message)]
  }
  if (readStsId(texts) === undefined) {
    const message =
      'there are several MTA-STS records, or one without an id, and others take none (RFC 8461 §3.1): leave one'
    return [finding('warning', 'mta_sts_broken', subject, message)]
  }
  const url = `https://mta-sts.${domain}/.well-known/mta-sts.txt`
  const fetched = await fetchPolicy(domain)
  if ('error' in fetched) {
    const message = `the policy can not be fetched as others do: ${fetched.error}. Who remembers one holds on to it; all others deliver as without`
    return [finding('warning', 'mta_sts_unreachable', url, message)]
  }
  const policy = readStsPolicy(fetched.text)
  if (policy === undefined) {
    return [
      finding('warning', 'mta_sts_invalid_policy', url, 'what stands there is no policy (RFC 8461 §3.2)'),
    ]
  }
  if (policy.mode === 'none' || allowsHost(policy, hostname)) return []
  const message = `the policy does not name ${hostname}: who obeys it delivers nothing here (RFC 8461 §4.1)`
  const level = policy.mode === 'enforce' ? 'error' : 'warning'
  return [finding(level, 'mta_sts_other_host', url, message, `mx: ${hostname}`)]
}

function judgeReports(domain: string, texts: readonly string[]): Finding[] {
  const name = `_smtp._tls.${domain}`
  const records = texts.filter(text => /^v=TLSRPTv1\b/i.test(text))
  const value = `v=TLSRPTv1; rua=mailto:postmaster@${domain}`
  const paste = zoneFile([{ type: 'TXT', name, value, priority: null }]).trimEnd()
  if (records.length === 0) {
    const message = 'nobody is told when TLS to this server fails (RFC 8460)'
    return [finding('hint', 'tls_rpt_missing', domain, message, paste)]
  }
  const hasTarget = /^(?:mailto:|https:)/i.test(readTags(records[0]!).get('rua') ?? '')
  if (records.length === 1 && hasTarget) return []
  const message = 'there are several records for TLS reports, or one without an address, and others take none'
  return [finding('warning', 'tls_rpt_broken', name, `${message} (RFC 8460 §3)`, paste)]
}
