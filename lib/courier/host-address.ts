import type { Dns } from '../base/network.ts'
import { createAuthoritativeDns } from './authoritative-dns.ts'

/**
 * The addresses of a host as the name servers of its zone have them now: no resolver's memory of before misleads.
 * @returns undefined: DNS does not say
 */
export async function findHostAddresses(resolver: Dns, host: string): Promise<string[] | undefined> {
  const dns = createAuthoritativeDns(resolver)
  const of = (asked: Promise<string[]>) =>
    asked.catch((error: unknown) => {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : undefined
    })
  const [ipv4, ipv6] = await Promise.all([of(dns.resolve4(host)), of(dns.resolve6(host))])
  if (ipv4 === undefined || ipv6 === undefined) return undefined
  return [...ipv4, ...ipv6]
}

/** Whether a host has an address; undefined: DNS does not say. */
export async function hasAddress(resolver: Dns, host: string): Promise<boolean | undefined> {
  const found = await findHostAddresses(resolver, host)
  return found && found.length > 0
}
