/** How TLS with a host went, by the names of RFC 8460 §4.3. */
export type TlsResultType =
  | 'success'
  | 'starttls-not-supported'
  | 'certificate-host-mismatch'
  | 'certificate-expired'
  | 'certificate-not-trusted'
  | 'validation-failure'
  | 'tlsa-invalid'
  | 'dnssec-invalid'
  | 'sts-policy-fetch-error'
  | 'sts-policy-invalid'
  | 'sts-webpki-invalid'

export interface TlsFault {
  readonly type: Exclude<TlsResultType, 'success'>
  /** A sentence's end that follows the host's name. */
  readonly text: string
}

/** One result of a domain, to be counted for its report (RFC 8460). */
export interface TlsResult {
  readonly policyDomain: string
  readonly policyType: 'tlsa' | 'sts' | 'no-policy-found'
  readonly type: TlsResultType
  /** Empty where it is none of a host. */
  readonly host: string
}
