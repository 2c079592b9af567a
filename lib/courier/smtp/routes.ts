import { isIPv6 } from 'node:net'

/** A server that takes mail of ours and passes it on. */
export interface Smarthost {
  readonly host: string
  readonly port: number
  /** TLS from the first byte (RFC 8314 §3.3), or by STARTTLS; `plain`: encrypted where that works. */
  readonly tls: 'starttls' | 'implicit' | 'plain'
  /** Who we are there. The password is read when it is needed. @throws when it can't be */
  readonly login?: { readonly user: string; readonly password: () => Promise<string> } | undefined
}

/** How mail to some domains goes. */
export interface Route {
  /** In lower case: a domain; `*.` before one for all below it; `*` for every one. */
  readonly domains: readonly string[]
  /** Without it, to the mail servers of the domain. */
  readonly smarthost?: Smarthost | undefined
  /** Whether the mail servers of the domain are tried when the smarthost does not answer. */
  readonly fallsBack: boolean
  readonly sourceAddress?: SourceAddress | undefined
}

/** The local address to connect from, of each family. */
export interface SourceAddress {
  readonly ipv4?: string | undefined
  readonly ipv6?: string | undefined
}

/** The first route that is for the domain. @param domain lower-case, A-labels */
export function findRoute(routes: readonly Route[], domain: string): Route | undefined {
  return routes.find(({ domains }) =>
    domains.some(name => {
      if (name === '*') return true
      return name.startsWith('*.') ? domain.endsWith(name.slice(1)) : domain === name
    }),
  )
}

export function sourceOf(address: string | undefined): SourceAddress | undefined {
  if (address === undefined) return undefined
  return isIPv6(address) ? { ipv6: address } : { ipv4: address }
}
