import type { Dns } from '../../base/network.ts'
import type { SecureAnswer, SecureDns } from './secure-dns.ts'

/** What sending mail asks of DNS, and for one attempt what of it was authenticated. */
export interface AuthenticatedDns extends Pick<Dns, 'resolveMx' | 'resolve4' | 'resolve6'> {
  /** Whether every answer about the name was authenticated; false where there was none. */
  isAuthentic(name: string): boolean
  /** What the CNAMEs of a name led to. */
  canonicalOf(name: string): string
}

/** The same questions and errors as of node:dns, all of them put to the validating resolver. */
export function createAuthenticatedDns(secure: SecureDns): AuthenticatedDns {
  const known = new Map<string, { isAuthentic: boolean; canonical: string }>()

  async function ask(name: string, type: 'MX' | 'A' | 'AAAA'): Promise<SecureAnswer> {
    // What failed says nothing: of a zone that is signed all that is answered is authentic, and who keeps one answer back must
    // not get the host taken for one without DANE (RFC 7672 §2.1.1).
    const answer = await secure.ask(name, type)
    const before = known.get(name)?.isAuthentic ?? true
    known.set(name, { isAuthentic: before && answer.isAuthentic, canonical: answer.canonical })
    if (answer.records.length > 0) return answer
    const code = answer.exists ? 'ENODATA' : 'ENOTFOUND'
    throw Object.assign(new Error(`there is no ${type} of ${name}`), { code })
  }

  const addresses = async (name: string, type: 'A' | 'AAAA') =>
    (await ask(name, type)).records.flatMap(record => (record.type === type ? [record.data as string] : []))

  return {
    async resolveMx(name) {
      const { records } = await ask(name, 'MX')
      return records.flatMap(record =>
        record.type === 'MX'
          ? [{ exchange: record.data.exchange, priority: record.data.preference ?? 0 }]
          : [],
      )
    },
    resolve4: name => addresses(name, 'A'),
    resolve6: name => addresses(name, 'AAAA'),
    isAuthentic: name => known.get(name)?.isAuthentic ?? false,
    canonicalOf: name => known.get(name)?.canonical ?? name,
  }
}
