/** A result of RFC 8601 §2.7, as far as SPF, DKIM and DMARC have them in common. */
export type AuthenticationResult = (typeof results)[number]

export interface CheckedSignature {
  readonly domain: string
  readonly selector: string
  /** A signature that leaves the end of the body unsigned (l=) is neutral: anyone may have added it. */
  readonly result: AuthenticationResult
  /** Whether the signing domain is that of From, by organisational domain. */
  readonly isAligned: boolean
}

const results = ['pass', 'fail', 'softfail', 'neutral', 'none', 'temperror', 'permerror'] as const

/** Of several signatures, the one that counts: one that passes, or what is most to be known of those that do not. */
const signatureOrder: readonly AuthenticationResult[] = ['pass', 'temperror', 'fail', 'permerror', 'neutral']

/** What mailauth says, in our words. */
export function resultOf(status: { readonly result: string }): AuthenticationResult {
  if (status.result === 'temperr') return 'temperror'
  // A key or an algorithm too weak to be believed (RFC 8301).
  if (status.result === 'policy') return 'permerror'
  return results.find(result => result === status.result) ?? 'neutral'
}

/** One signature, as mailauth reports it; undefined for its row that says that there is none. */
export function readSignature(row: {
  readonly signingDomain?: string
  readonly selector?: string
  readonly status: {
    readonly result: string
    readonly comment?: string
    readonly aligned?: string | false
    readonly underSized?: number
  }
}): CheckedSignature | undefined {
  const { signingDomain, selector, status } = row
  if (!signingDomain) return undefined
  const isChanged = status.result === 'neutral' && status.comment === 'body hash did not verify'
  const isPartial = status.result === 'pass' && (status.underSized ?? 0) > 0
  return {
    domain: signingDomain.toLowerCase(),
    selector: selector ?? '',
    // RFC 6376 §6.1.3: a body that is not the signed one is a failure.
    result: isChanged ? 'fail' : isPartial ? 'neutral' : resultOf(status),
    isAligned: Boolean(status.aligned),
  }
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
    readonly fromDomain: string
  },
): string {
  const { spf, spfIdentity, spfDomain, signatures, dmarc, fromDomain } = checked
  return [
    mta,
    ...(signatures.length === 0 ? ['dkim=none'] : []),
    ...signatures.map(
      ({ result, domain, selector }) =>
        `dkim=${result}${property('header.d', domain)}${property('header.s', selector)}`,
    ),
    `spf=${spf}${property(`smtp.${spfIdentity}`, spfDomain)}`,
    `dmarc=${dmarc}${property('header.from', fromDomain)}`,
  ].join(';\r\n\t')
}

/** Left out when it is no name: it is a stranger's text. */
function property(name: string, value: string): string {
  return /^[\w.-]{1,255}$/.test(value) ? ` ${name}=${value}` : ''
}
