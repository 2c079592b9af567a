import { destinationsKnown } from '../../base/concurrency.ts'
import { FairSlots, type Leave } from '../../base/fair-slots.ts'
import type { Log } from '../../base/log.ts'
import type { Dns } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { readStsId, readStsPolicy, type StsPolicy } from '../../mail/domain/mta-sts.ts'
import type { Fetched } from '../https-get.ts'
import type { TlsFault } from '../tls-result.ts'

/** So many are fetched at once, of which a pod has at most three times as many as it leaves free; how long a turn is waited for. */
export const stsFetches = 40
const stsWaitMs = 60_000
export const stsRetryMs = 300_000
export const stsRefreshMs = 86_400_000

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
  /** So many are being fetched that it could not be asked for: whether there is one is not known. */
  readonly isUnasked?: true
}

/** What is said of mail that waits for that. */
export const policyNotAsked =
  'not sent yet: whether its domain has an MTA-STS policy could not be asked, for too many are being fetched'

/** Who asks for a policy. */
export interface StsAsking {
  /** Whose mail it is for: what is fetched is fetched in turns of pods. */
  readonly podId: string
  /** Ends the wait for a turn. What is being fetched is fetched on, for the next attempt. */
  readonly signal: AbortSignal
}

export interface StsPolicies {
  /** @param domain lower-case, A-labels @throws nothing for what DNS or the domain's web server do */
  of(domain: string, asking: StsAsking): Promise<StsFinding>
}

export interface StsPoliciesOptions {
  readonly dns: Pick<Dns, 'resolveTxt'>
  readonly clock: Clock
  readonly log?: Log | undefined
  readonly store: StsStore
  /** Fetches a path over https from a host that a stranger chose. */
  readonly get: (host: string, path: string) => Promise<Fetched>
  /** How long a turn to fetch is waited for. */
  readonly waitMs?: number | undefined
}

/**
 * The MTA-STS policies of the domains that mail goes to (RFC 8461). A policy holds for its max_age, whatever becomes of its
 * record and its web server meanwhile; another id in DNS has it fetched again. So many are fetched at once (`stsFetches`), and a pod,
 * which may know any number of slow web servers, has at most three times as many as it leaves free; where there is no room the policy that is kept is applied, and without one the mail waits: that there
 * is none is not known.
 */
export function createStsPolicies(options: StsPoliciesOptions): StsPolicies {
  const { dns, clock, log, store, get, waitMs = stsWaitMs } = options
  const slots = new FairSlots({ size: stsFetches, share: free => 3 * free, waitMs })
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
    failed.set(domain, { id: policyId, untilMs: clock.monotonicMs() + stsRetryMs, finding })
    if (failed.size > destinationsKnown) failed.delete(failed.keys().next().value!)
    return finding
  }

  /** What is known without fetching, or will be when what is being fetched is there. */
  function findKnown(domain: string, id: string): Promise<StsFinding> | undefined {
    const before = failed.get(domain)
    if (before?.id === id && clock.monotonicMs() < before.untilMs) return Promise.resolve(before.finding)
    return underWay.get(domain)
  }

  /** Gives undefined when the turn did not come in time. */
  async function fetchInTurn(
    domain: string,
    id: string,
    { podId, signal }: StsAsking,
  ): Promise<StsFinding | undefined> {
    const known = findKnown(domain, id)
    if (known) return known
    const leave = await slots.enter(podId, { signal })
    if (!leave) return undefined
    let found: StsFinding | Promise<StsFinding> | undefined
    try {
      // Others may have come before, with the same domain.
      const stored = await store.find(domain)
      found = stored?.policyId === id && isKept(stored) ? { policy: stored } : findKnown(domain, id)
    } catch (error) {
      leave()
      throw error
    }
    if (!found) return fetchEntered(domain, id, leave)
    leave()
    return found
  }

  function fetchEntered(domain: string, id: string, leave: Leave): Promise<StsFinding> {
    const fetching = fetchPolicy(domain, id).finally(() => {
      underWay.delete(domain)
      leave()
    })
    underWay.set(domain, fetching)
    return fetching
  }

  function isKept({ fetchedAt, maxAgeSeconds }: StoredStsPolicy): boolean {
    return clock.now().getTime() < fetchedAt.getTime() + maxAgeSeconds * 1000
  }

  /** Where there is no room, that is for another attempt to do. */
  async function refresh(domain: string, id: string, podId: string): Promise<void> {
    if (findKnown(domain, id) || !slots.hasRoomFor(podId)) return
    const leave = (await slots.enter(podId))!
    // Another attempt may have begun it in the same moment.
    if (findKnown(domain, id)) leave()
    else await fetchEntered(domain, id, leave)
  }

  return {
    async of(domain, asking) {
      const [id, stored] = await Promise.all([findId(dns, domain), store.find(domain)])
      const nowMs = clock.now().getTime()
      const kept: StsFinding = stored && isKept(stored) ? { policy: stored } : {}
      // Without a record the policy that was fetched holds on (RFC 8461 §3.1, §5.1).
      if (id === undefined) return kept
      const isFresh = stored && nowMs - stored.fetchedAt.getTime() < stsRefreshMs
      if (kept.policy && stored?.policyId === id) {
        // Before it ends, so that who blocks its fetching then gains nothing.
        if (!isFresh)
          refresh(domain, id, asking.podId).catch(error => log?.error({ err: error, domain }, 'MTA-STS'))
        return kept
      }
      // RFC 8461 §3.3: what was fetched before is applied where no other can be had.
      if (kept.policy && !slots.hasRoomFor(asking.podId)) return kept
      const finding = await fetchInTurn(domain, id, asking)
      if (finding === undefined) return kept.policy ? kept : { isUnasked: true }
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
