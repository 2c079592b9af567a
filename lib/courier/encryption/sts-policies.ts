import type { Clock } from '../../base/clock.ts'
import type { Dns } from '../../base/dns.ts'
import { limits } from '../../base/limits.ts'
import type { Log } from '../../base/log.ts'
import { readStsId, readStsPolicy, type StsPolicy } from '../../mail/domain/mta-sts.ts'
import type { Fetched } from '../https-get.ts'
import type { TlsFault } from '../tls-result.ts'

/** A policy as it was fetched. */
export interface StoredStsPolicy extends StsPolicy {
  readonly domain: string
  /** The id of its record in DNS at that time. */
  readonly policyId: string
  readonly fetchedAt: Date
}

/** Where policies are kept between attempts. */
export interface StsStore {
  find(domain: string): Promise<StoredStsPolicy | undefined>
  put(policy: StoredStsPolicy): Promise<void>
}

/** What MTA-STS asks for of a domain: of one that has no policy nothing. */
export interface StsFinding {
  readonly policy?: StsPolicy
  /** Why there is none, or why it is the one of before. */
  readonly fault?: TlsFault
}

export interface StsPolicies {
  /** @param domain lower-case, A-labels @throws nothing for what DNS or the domain's web server do */
  of(domain: string): Promise<StsFinding>
}

export interface StsPoliciesOptions {
  readonly dns: Pick<Dns, 'resolveTxt'>
  readonly clock: Clock
  readonly log?: Log | undefined
  readonly store: StsStore
  /** Fetches a path over https from a host that a stranger chose. */
  readonly get: (host: string, path: string) => Promise<Fetched>
}

/**
 * The MTA-STS policies of the domains that mail goes to (RFC 8461). A policy holds for its max_age, whatever becomes of its
 * record and its web server meanwhile; another id in DNS has it fetched again.
 */
export function createStsPolicies({ dns, clock, log, store, get }: StsPoliciesOptions): StsPolicies {
  const underWay = new Map<string, Promise<StsFinding>>()
  /** The ids that could not be fetched, and until when that is believed. */
  const failed = new Map<string, { id: string; untilMs: number; finding: StsFinding }>()

  async function fetchPolicy(domain: string, policyId: string): Promise<StsFinding> {
    const fetched = await get(`mta-sts.${domain}`, '/.well-known/mta-sts.txt')
    const fault = faultOf(fetched)
    const policy = 'text' in fetched && fault === undefined ? readStsPolicy(fetched.text) : undefined
    if (policy !== undefined) {
      failed.delete(domain)
      await store.put({ ...policy, domain, policyId, fetchedAt: clock.now() })
      return { policy }
    }
    const finding = { fault: fault ?? { type: 'sts-policy-invalid' as const, text: 'the file is no policy' } }
    log?.info({ domain, policyId, ...finding.fault }, 'MTA-STS policy not fetched')
    failed.delete(domain)
    failed.set(domain, { id: policyId, untilMs: clock.monotonicMs() + limits.stsRetryMs, finding })
    if (failed.size > limits.destinationsKnown) failed.delete(failed.keys().next().value!)
    return finding
  }

  function fetchOnce(domain: string, id: string): Promise<StsFinding> {
    const before = failed.get(domain)
    if (before?.id === id && clock.monotonicMs() < before.untilMs) return Promise.resolve(before.finding)
    const known = underWay.get(domain)
    if (known) return known
    const fetching = fetchPolicy(domain, id).finally(() => underWay.delete(domain))
    underWay.set(domain, fetching)
    return fetching
  }

  return {
    async of(domain) {
      const [id, stored] = await Promise.all([findId(dns, domain), store.find(domain)])
      const nowMs = clock.now().getTime()
      const untilMs = stored ? stored.fetchedAt.getTime() + stored.maxAgeSeconds * 1000 : 0
      const kept: StsFinding = stored && nowMs < untilMs ? { policy: stored } : {}
      // Without a record the policy that was fetched holds on (RFC 8461 §3.1, §5.1).
      if (id === undefined) return kept
      const isFresh = stored && nowMs - stored.fetchedAt.getTime() < limits.stsRefreshMs
      if (kept.policy && stored?.policyId === id) {
        // Before it ends, so that who blocks its fetching then gains nothing.
        if (!isFresh) fetchOnce(domain, id).catch(error => log?.error({ err: error, domain }, 'MTA-STS'))
        return kept
      }
      const finding = await fetchOnce(domain, id)
      return finding.policy ? finding : { ...finding, ...kept }
    },
  }
}

/** The id in DNS; undefined: none that counts, or DNS does not say. */
async function findId(dns: Pick<Dns, 'resolveTxt'>, domain: string): Promise<string | undefined> {
  try {
    return readStsId((await dns.resolveTxt(`_mta-sts.${domain}`)).map(strings => strings.join('')))
  } catch (error) {
    if (error instanceof Error && 'code' in error) return undefined
    throw error
  }
}

function faultOf(fetched: Fetched): StsFinding['fault'] {
  if ('error' in fetched) {
    return { type: fetched.isTlsFault ? 'sts-webpki-invalid' : 'sts-policy-fetch-error', text: fetched.error }
  }
  const { status, contentType } = fetched
  // RFC 8461 §3.3: redirects are not followed.
  if (status !== 200) return { type: 'sts-policy-fetch-error', text: `the web server answered ${status}` }
  if (/^text\/plain\s*(?:;|$)/i.test(contentType)) return undefined
  return { type: 'sts-policy-invalid', text: `the file is ${contentType.slice(0, 100) || 'of no type'}` }
}
