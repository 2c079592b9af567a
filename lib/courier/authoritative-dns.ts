import type { Dns } from '../base/dns.ts'
import { limits } from '../base/limits.ts'
import { createDns } from './dns.ts'

/**
 * DNS as the name servers of each zone say it now, so that what a resolver remembers of before misleads nobody. Where these can't be
 * found or do not answer, the resolver is believed. For the operator's own questions: strangers must not choose who is asked.
 * @param resolver finds the name servers, and follows aliases
 */
export function createAuthoritativeDns(resolver: Dns): Dns {
  const zones = new Map<string, Promise<Dns | undefined>>()

  function serversOf(name: string): Promise<Dns | undefined> {
    const known = zones.get(name)
    if (known) return known
    const found = findServers(name)
    zones.set(name, found)
    return found
  }

  /** The name servers of the closest name above that has some. */
  async function findServers(name: string): Promise<Dns | undefined> {
    const hosts: unknown[] = await resolver.resolve(name, 'NS').catch(() => [])
    const names = hosts
      .filter((host): host is string => typeof host === 'string')
      .slice(0, limits.nameServersAsked)
    if (names.length === 0) {
      const above = name.slice(name.indexOf('.') + 1)
      // A top-level domain delegates: its servers do not answer for others' zones.
      return name.includes('.') && above.includes('.') ? serversOf(above) : undefined
    }
    const addresses = await Promise.all(names.map(host => resolver.resolve4(host).catch(() => [])))
    const servers = addresses.flatMap(each => each.slice(0, 1))
    return servers.length > 0 ? createDns({ servers, timeoutMs: limits.dnsTimeoutMs }) : undefined
  }

  async function ask<T>(name: string, question: (dns: Dns) => Promise<T>): Promise<T> {
    const authority = await serversOf(name)
    if (!authority) return question(resolver)
    try {
      return await question(authority)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      const isNone = code === 'ENOTFOUND' || code === 'ENODATA'
      // An alias leads out of the zone, which these servers do not follow.
      const aliases = isNone ? await resolver.resolve(name, 'CNAME').catch(() => []) : []
      if (isNone && aliases.length === 0) throw error
      return question(resolver)
    }
  }

  return {
    resolveMx: name => ask(name, dns => dns.resolveMx(name)),
    resolve4: name => ask(name, dns => dns.resolve4(name)),
    resolve6: name => ask(name, dns => dns.resolve6(name)),
    resolveTxt: name => ask(name, dns => dns.resolveTxt(name)),
    resolve: (name, type) => ask(name, dns => dns.resolve(name, type)),
    reverse: address => resolver.reverse(address),
  }
}
