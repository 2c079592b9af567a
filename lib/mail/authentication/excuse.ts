import { normaliseDomain } from '../address/address.ts'

/** One result of an Authentication-Results value: `dkim=pass header.d=example.com`. */
interface Finding {
  readonly method: string
  readonly result: string
  readonly properties: ReadonlyMap<string, string>
}

/**
 * Whether another host's results (RFC 8601 §2.2) say that the message was from this domain when it came to that host: by
 * DMARC, or by SPF or DKIM of an aligned domain. In doubt they do not.
 * @param found comments and quoted strings in it are a stranger's text, and are passed over
 */
export function saysProven(
  found: string,
  fromDomain: string,
  isAligned: (method: 'spf' | 'dkim', domain: string) => boolean,
): boolean {
  const findings = readFindings(found)
  const ofDmarc = findings.filter(({ method }) => method === 'dmarc')
  // A host has one result of it; where two contradict each other, a stranger may have brought one in.
  if (ofDmarc.some(({ result }) => result === 'pass'))
    return ofDmarc.every(
      ({ result, properties }) =>
        result === 'pass' && (properties.get('header.from') ?? fromDomain) === fromDomain,
    )
  return findings.some(({ method, result, properties }) => {
    if (result !== 'pass' || (method !== 'spf' && method !== 'dkim')) return false
    const names = method === 'spf' ? ['smtp.mailfrom'] : ['header.d', 'header.i']
    return names
      .map(name => properties.get(name))
      .some(domain => domain !== undefined && domain !== '' && isAligned(method, domain))
  })
}

/** The results after the name of the host. A value of a property is its domain, in lower case; empty where it has none. */
function readFindings(value: string): Finding[] {
  return plainText(value)
    .split(';')
    .slice(1)
    .map(text => text.trim().toLowerCase().split(/\s+/))
    .map(([first = '', ...rest]) => {
      const [method = '', result = ''] = first.split('=')
      const properties = new Map<string, string>()
      for (const each of rest) {
        const [name = '', said = ''] = each.split('=')
        // What is no domain for us was one for that host: it is not as if it had said none.
        const domain = normaliseDomain(said.slice(said.lastIndexOf('@') + 1)) ?? ''
        properties.set(name, properties.has(name) && properties.get(name) !== domain ? '' : domain)
      }
      return { method, result, properties }
    })
}

/** Without comments, which may hold one another, and quoted strings (RFC 5322 §3.2.2, §3.2.4); empty when one has no end. */
export function plainText(value: string): string {
  let text = ''
  let depth = 0
  let isQuoted = false
  for (let i = 0; i < value.length; i++) {
    const character = value[i]!
    const isInside = isQuoted || depth > 0
    if (isInside && character === '\\') i++
    else if (depth === 0 && character === '"') isQuoted = !isQuoted
    else if (!isQuoted && character === '(') depth++
    else if (!isQuoted && character === ')' && depth > 0) depth--
    else if (!isInside) text += character
  }
  return isQuoted || depth > 0 ? '' : text
}
