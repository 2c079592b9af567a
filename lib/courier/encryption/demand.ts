import { hash, type X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { TlsFault } from '../tls-result.ts'
import { daneFault, type Tlsa, tlsChain } from './dane.ts'

/** How much a session with a host must be encrypted, and to whom. */
export type TlsDemand =
  /** Encrypted where that works, to whoever it is (RFC 7435). */
  | { readonly kind: 'opportunistic' }
  /** RFC 7672. Without records that can be used: encrypted, to whoever it is. */
  | { readonly kind: 'dane'; readonly tlsa: readonly Tlsa[]; readonly names: readonly string[] }
  /** With a certificate for the host that is believed: by MTA-STS (RFC 8461), or to a smarthost. */
  | { readonly kind: 'certificate' }

/** What sessions must have in common to be used one for the other. */
export function demandKey(demand: TlsDemand, host: string): string {
  if (demand.kind === 'opportunistic') return ''
  if (demand.kind === 'certificate') return `certificate ${host}`
  return `dane ${host} ${hash('sha256', JSON.stringify([demand.tlsa, demand.names]))}`
}

/** Why an encrypted connection is not what is demanded; undefined when it is. A session that goes on was judged before. */
export function tlsFault(socket: TLSSocket, demand: TlsDemand, now: Date): TlsFault | undefined {
  if (demand.kind === 'opportunistic' || socket.isSessionReused()) return undefined
  if (demand.kind === 'certificate') return socket.authorized ? undefined : certificateFault(socket)
  if (demand.tlsa.length === 0) return undefined
  const text = daneFault(demand.tlsa, chainOf(socket), demand.names, now)
  return text === undefined ? undefined : { type: 'tlsa-invalid', text }
}

/** What would be wrong with the connection, were its certificate demanded: what a policy under test reports. */
export function certificateFault({ authorized, authorizationError }: TLSSocket): TlsFault | undefined {
  if (authorized) return undefined
  const said = String(authorizationError)
  if (/CERT_HAS_EXPIRED/.test(said))
    return { type: 'certificate-expired', text: 'its certificate has expired' }
  if (/ALTNAME|altname|does not match/i.test(said))
    return { type: 'certificate-host-mismatch', text: 'its certificate is for another name' }
  return { type: 'certificate-not-trusted', text: `its certificate is not trusted (${said.slice(0, 100)})` }
}

function chainOf(socket: TLSSocket): X509Certificate[] {
  const chain: X509Certificate[] = []
  let next = socket.getPeerX509Certificate()
  while (next && chain.length < tlsChain && !chain.some(one => one.raw.equals(next!.raw))) {
    chain.push(next)
    next = next.issuerCertificate
  }
  return chain
}
