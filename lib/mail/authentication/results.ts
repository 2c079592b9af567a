import { isIP } from 'node:net'

/** A result of RFC 8601 §2.7, as far as SPF, DKIM and DMARC have them in common. */
export type AuthenticationResult = (typeof results)[number]

export interface CheckedSignature {
  /** `d=` and `s=`; empty when they are no names. */
  readonly domain: string
  readonly selector: string
  /** Of a signature that leaves the end of the body unsigned (l=) `policy`: anyone may have added it. */
  readonly result: AuthenticationResult
  /** Whether the signing domain is that of From, as the DMARC record asks; by organisational domain without one. */
  readonly isAligned: boolean
}

const results = ['pass', 'fail', 'policy', 'softfail', 'neutral', 'none', 'temperror', 'permerror'] as const

/** Of several signatures, the one that counts: one that passes, or what is most to be known of those that do not. */
const signatureOrder: readonly AuthenticationResult[] = [
  'pass',
  'temperror',
  'fail',
  'policy',
  'permerror',
  'neutral',
]

/** What mailauth says, in our words. */
export function resultOf(status: { readonly result: string }): AuthenticationResult {
  if (status.result === 'temperr') return 'temperror'
  return results.find(result => result === status.result) ?? 'neutral'
}

export function bestOf(signatures: readonly CheckedSignature[]): AuthenticationResult {
  return signatureOrder.find(result => signatures.some(each => each.result === result)) ?? 'none'
}

/** The value of an Authentication-Results field (RFC 8601 §2.2), one result a line. */
export function authenticationResults(
  mta: string,
  checked: {
    readonly spf: AuthenticationResult
    readonly spfIdentity: 'mailfrom' | 'helo'
    readonly spfDomain: string
    readonly signatures: readonly CheckedSignature[]
    readonly dmarc: AuthenticationResult
    /** Empty when it is not sure who wrote. */
    readonly fromDomain: string
    readonly arc: 'none' | 'pass' | 'fail'
    readonly remoteAddress: string
  },
): string {
  const { spf, spfIdentity, spfDomain, signatures, dmarc, fromDomain, arc, remoteAddress } = checked
  return [
    mta,
    ...(signatures.length === 0 ? ['dkim=none'] : []),
    ...signatures.map(
      ({ result, domain, selector }) =>
        `dkim=${result}${property('header.d', domain)}${property('header.s', selector)}`,
    ),
    `spf=${spf}${property(`smtp.${spfIdentity}`, spfDomain)}`,
    `dmarc=${dmarc}${property('header.from', fromDomain)}`,
    // RFC 8617 §6.
    `arc=${arc}${isIP(remoteAddress) === 0 ? '' : ` smtp.remote-ip="${remoteAddress}"`}`,
  ].join(';\r\n\t')
}

/** Left out when it is no name: it is a stranger's text. */
function property(name: string, value: string): string {
  return /^[\w.-]{1,255}$/.test(value) ? ` ${name}=${value}` : ''
}

/** The results that we wrote into the trace of a message when it came; undefined where nothing was checked then. */
export function readOwnResults(
  trace: string,
): { readonly results: string; readonly chain: 'none' | 'pass' | 'fail' } | undefined {
  const results = /^Authentication-Results: (.*(?:\r\n\t.*)*)\r\n/m.exec(trace)?.[1]
  const chain = /;\r\n\tarc=(none|pass|fail)\b/.exec(results ?? '')?.[1]
  if (results === undefined || chain === undefined) return undefined
  return { results, chain: chain as 'none' | 'pass' | 'fail' }
}
