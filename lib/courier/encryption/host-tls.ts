import { allowsHost } from '../../mail/domain/mta-sts.ts'
import type { TlsFault, TlsResult } from '../tls-result.ts'
import type { AuthenticatedDns } from './authenticated-dns.ts'
import { findTlsa } from './dane.ts'
import type { TlsDemand } from './demand.ts'
import type { SecureDns } from './secure-dns.ts'
import type { StsAsking, StsFinding, StsPolicies } from './sts-policies.ts'

/** What a session with one host of a domain must be. */
export interface HostTls {
  readonly demand: TlsDemand
  readonly policyType: TlsResult['policyType']
  /** The domain tries its policy out: what would have failed is counted, and nothing depends on it. */
  readonly isTesting: boolean
}

/** What is known of a domain that mail goes to. */
export interface DomainTls {
  /** Lower-case, A-labels. */
  readonly domain: string
  readonly port: number
  /** The resolver that authenticates, and what it authenticated for this attempt. */
  readonly secure?: { readonly dns: SecureDns; readonly seen: AuthenticatedDns } | undefined
  readonly sts: StsFinding
}

/** What a domain demands of TLS; undefined when the attempt was given up before that was known. */
export async function findDomainTls(
  {
    domain,
    port,
    secureDns,
    seen,
  }: Pick<DomainTls, 'domain' | 'port'> & {
    secureDns: SecureDns | undefined
    seen: AuthenticatedDns | undefined
  },
  stsPolicies: StsPolicies | undefined,
  asking: StsAsking,
): Promise<DomainTls | undefined> {
  const secure = seen && secureDns && { dns: secureDns, seen }
  // What is being fetched is fetched on for the next attempt; without it this one must not go on.
  const sts =
    stsPolicies === undefined ? {} : await unlessAborted(stsPolicies.of(domain, asking), asking.signal)
  return sts && { domain, port, secure, sts }
}

/** Undefined when the signal comes first. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const abort = () => resolve(undefined)
    signal.addEventListener('abort', abort, { once: true })
    work.finally(() => signal.removeEventListener('abort', abort)).then(resolve, reject)
    if (signal.aborted) abort()
  })
}

/** Nothing is asked for: encrypted where that works. */
export const opportunistic: HostTls = {
  demand: { kind: 'opportunistic' },
  policyType: 'no-policy-found',
  isTesting: false,
}

/**
 * What a session with a host must be, or why there can be none. DANE comes first: where it says something, MTA-STS does not
 * excuse it (RFC 8461 §2).
 * @param host whose addresses were looked up, lower-case without a final dot
 */
export async function hostTls(host: string, given: DomainTls): Promise<HostTls | TlsFault> {
  const { domain, port, secure, sts } = given
  // Unless the way to the host is authenticated, the records at its name say nothing (RFC 7672 §2.2.1).
  if (secure?.seen.isAuthentic(domain) && secure.seen.isAuthentic(host)) {
    const names = [secure.seen.canonicalOf(host), host]
    const found = await findTlsa(secure.dns, names, port)
    if (found.kind === 'unknown') return { type: 'dnssec-invalid', text: found.text }
    if (found.kind === 'records') {
      const { tlsa, base } = found
      const demand = { kind: 'dane', tlsa, names: [base, host, domain] } as const
      return { demand, policyType: 'tlsa', isTesting: false }
    }
  }
  const { policy } = sts
  if (policy === undefined || policy.mode === 'none') return opportunistic
  const isTesting = policy.mode === 'testing'
  if (!allowsHost(policy, host) && !isTesting)
    return { type: 'validation-failure', text: `the MTA-STS policy of ${domain} does not name it` }
  const kind = isTesting ? 'opportunistic' : 'certificate'
  return { demand: { kind }, policyType: 'sts', isTesting }
}
