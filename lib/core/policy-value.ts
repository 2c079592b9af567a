import { baseAddress, domainOf, normaliseAddress, normaliseDomain } from '../mail/address.ts'

/**
 * The value of a sender rule in the one form that is stored and compared: an address; a domain, which is also written
 * `@domain` and `*@domain`; or `*.domain`. Lower-case, A-labels. Undefined for what is none of these.
 */
export function normalisePolicyValue(text: string): string | undefined {
  if (text.startsWith('*.')) {
    const domain = normaliseDomain(text.slice(2))
    return domain && `*.${domain}`
  }
  if (text.startsWith('*@')) return normaliseDomain(text.slice(2))
  if (text.startsWith('@')) return normaliseDomain(text.slice(1))
  return text.includes('@') ? normaliseAddress(text) : normaliseDomain(text)
}

/** The values of all the rules that match an address (in the form of `normaliseAddress`). */
export function valuesMatching(address: string): string[] {
  return [address, ...valuesMatchingDomain(domainOf(address))]
}

/** The same for a rule that blocks: `user+tag` is `user`, so that no tag gets around it. */
export function valuesBlocking(address: string): string[] {
  const base = baseAddress(address)
  return base === address ? valuesMatching(address) : [base, ...valuesMatching(address)]
}

function valuesMatchingDomain(domain: string): string[] {
  const labels = domain.split('.')
  return [domain, ...labels.map((_, index) => `*.${labels.slice(index).join('.')}`)]
}

/** Whether everything that `value` matches is matched by one of `others` alone. */
export function isCovered(value: string, others: readonly string[]): boolean {
  const wider = value.startsWith('*.')
    ? valuesMatchingDomain(value.slice(2)).slice(1)
    : value.includes('@')
      ? valuesMatching(value)
      : valuesMatchingDomain(value)
  return wider.some(one => others.includes(one))
}
