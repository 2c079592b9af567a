import { createSecureContext, type SecureContext } from 'node:tls'
import type { Pair } from './pair.ts'

/** The certificates that a server shows at one time. */
export interface CertificateSet {
  /** What it is made of: plain data, which another thread makes a set of its own of. */
  readonly pairs: readonly [Pair, ...Pair[]]
  /** For a peer that names no server, or one that no certificate is for. */
  readonly fallback: Pick<Pair, 'key' | 'cert'>
  /** For a peer that asks for this server (SNI, RFC 6066 §3); undefined: the fallback. */
  contextFor(servername: string): SecureContext | undefined
}

/** The first pair is the fallback; of several for one name the first is shown, and a whole name goes before a wildcard. */
export function createCertificateSet(pairs: readonly [Pair, ...Pair[]]): CertificateSet {
  const byName = new Map<string, SecureContext>()
  for (const { key, cert, names } of pairs) {
    // Which versions and ciphers there are the server decides: of a context that SNI chose only the certificate counts.
    const context = createSecureContext({ key, cert })
    for (const name of names) {
      if (!byName.has(name)) byName.set(name, context)
    }
  }
  return {
    pairs,
    fallback: pairs[0],
    contextFor(servername) {
      const name = servername.toLowerCase().replace(/\.$/, '')
      // A wildcard stands for one label, the first (RFC 6125 §6.4.3).
      return byName.get(name) ?? byName.get(name.replace(/^[^.]+/, '*'))
    },
  }
}
