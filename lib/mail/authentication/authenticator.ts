import type { Readable } from 'node:stream'
import type { DKIMVerifyResult, DNSResolver, SPFResult } from 'mailauth'
import type { Clock } from '../../base/clock.ts'
import type { Dns } from '../../base/dns.ts'
import { limits } from '../../base/limits.ts'
import { domainOf } from '../address/address.ts'
import { createDnsCache } from './dns-cache.ts'
import {
  type AuthenticationResult,
  authenticationResults,
  bestOf,
  type CheckedSignature,
  readSignature,
  resultOf,
} from './results.ts'
import { limitSignatures } from './signature-limit.ts'

export interface AuthenticationInput {
  /** Its header within limits.headerBytes and limits.headerLines (findHeaderFault). */
  readonly raw: Buffer | Readable
  readonly remoteAddress: string
  readonly helo: string
  /** The reverse-path; empty for the null one, where SPF looks at HELO instead (RFC 7208 §2.4). */
  readonly mailFrom: string
}

export interface AuthenticatedMessage {
  readonly spf: AuthenticationResult
  /** That of the signature that counts. */
  readonly dkim: AuthenticationResult
  /** `none` without a policy of the From domain, `permerror` without one From domain (RFC 9989 §5.3.1). */
  readonly dmarc: AuthenticationResult
  /** Whether the From domain is proven: DMARC passes or, where the domain has no policy, an aligned SPF or DKIM does. */
  readonly aligned: boolean
  readonly signatures: readonly CheckedSignature[]
  readonly spfDomain: string
  /** The value of an Authentication-Results field (RFC 8601 §2.2), folded. */
  readonly header: string
}

export interface Authenticator {
  /** Checks one message in at most limits.authenticationMs. Never fails: what can't be found out is a temperror. */
  authenticate(input: AuthenticationInput): Promise<AuthenticatedMessage>
}

/** `mta` is our own name. All messages share one memory of DNS answers. */
export function createAuthenticator(options: { dns: Dns; clock: Clock; mta: string }): Authenticator {
  const { mta, clock } = options
  // Its type knows of strings alone; of MX mailauth takes the objects of node:dns.
  const resolver = createDnsCache(options) as DNSResolver
  return {
    async authenticate({ raw, remoteAddress, helo, mailFrom }) {
      // Costs 290 ms, which a start need not wait for.
      const [mailauth, tools] = await Promise.all([import('mailauth'), import('mailauth/lib/tools.js')])
      const within = limitTo(limits.authenticationMs, clock)
      const message = limitSignatures(raw)
      const [spf, dkim] = await Promise.all([
        within(mailauth.spf({ ip: remoteAddress, helo, sender: mailFrom, mta, resolver, strict: true })),
        within(mailauth.dkimVerify(message, { resolver, sender: mailFrom, rejectRsaSha1: true })),
      ])
      if (!dkim && !Buffer.isBuffer(message)) message.destroy()
      const identities = readIdentities(spf, dkim)
      const { fromDomains, spfDomain, signatures } = identities
      const policy = await within(
        mailauth.dmarc({
          headerFrom: dkim?.headerFrom ?? [],
          fromFields: dkim?.fromFields ?? 0,
          spfDomains: identities.spf === 'pass' ? [spfDomain] : [],
          dkimDomains: signatures.filter(({ result }) => result === 'pass').map(({ domain }) => ({ domain })),
          resolver,
        }),
      )
      const isSpfAligned = fromDomains.length === 1 && !!tools.getAlignment(fromDomains[0]!, [spfDomain])
      const dmarc = dmarcResult(identities, policy && resultOf(policy.status), isSpfAligned)
      const isProven =
        (identities.spf === 'pass' && isSpfAligned) ||
        signatures.some(({ result, isAligned }) => result === 'pass' && isAligned)
      const checked = { spf: identities.spf, dmarc, signatures, spfDomain }
      return {
        ...checked,
        dkim: dkim ? bestOf(signatures) : 'temperror',
        aligned: dmarc === 'pass' || (dmarc === 'none' && isProven),
        header: authenticationResults(mta, {
          ...checked,
          spfIdentity: mailFrom === '' ? 'helo' : 'mailfrom',
          fromDomain: fromDomains.length === 1 ? fromDomains[0]! : '',
        }),
      }
    },
  }
}

interface Identities {
  readonly spf: AuthenticationResult
  readonly spfDomain: string
  readonly signatures: readonly CheckedSignature[]
  readonly fromDomains: readonly string[]
  readonly isRead: boolean
}

function readIdentities(spf: SPFResult | undefined, dkim: DKIMVerifyResult | undefined): Identities {
  return {
    spf: spf ? resultOf(spf.status) : 'temperror',
    spfDomain: spf ? spf.domain.toLowerCase() : '',
    signatures: (dkim?.results ?? []).map(readSignature).filter(signature => signature !== undefined),
    fromDomains: [...new Set((dkim?.headerFrom ?? []).map(domainOf))],
    isRead: dkim !== undefined,
  }
}

/** A failure counts only when nothing that could have passed is unknown. */
function dmarcResult(
  { isRead, fromDomains, spf, signatures }: Identities,
  result: AuthenticationResult | false | undefined,
  isSpfAligned: boolean,
): AuthenticationResult {
  if (!isRead || result === undefined) return 'temperror'
  if (result === false) return fromDomains.length === 0 ? 'none' : 'permerror'
  const isUnknown =
    (spf === 'temperror' && isSpfAligned) ||
    signatures.some(signature => signature.result === 'temperror' && signature.isAligned)
  return result === 'fail' && isUnknown ? 'temperror' : result
}

/** Gives undefined for what fails, or is not there when the time, which begins now, is over. */
function limitTo(ms: number, clock: Clock): <T>(work: Promise<T>) => Promise<T | undefined> {
  const end = clock.monotonicMs() + ms
  return async work => {
    const { promise: late, resolve } = Promise.withResolvers<undefined>()
    const timer = setTimeout(() => resolve(undefined), Math.max(0, end - clock.monotonicMs()))
    try {
      return await Promise.race([work, late])
    } catch {
      return undefined
    } finally {
      clearTimeout(timer)
    }
  }
}
