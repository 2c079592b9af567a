import type { Dns } from '../base/network.ts'
import { createDns } from './dns.ts'

/** Name servers of a zone that an operator's check asks. */
const nameServersAsked = 4
/** How long one question to the name servers of a zone may take. */
export const nameServerMs = 4_000

/** DNS by the name servers of each zone. */
export interface AuthoritativeDns extends Dns {
  /** The zone that a name is in, with the addresses of its name servers; undefined where they can't be found. */
  findZone(name: string): Promise<Zone | undefined>
  /** The zones whose name servers gave no answer so far, so that the resolver was believed. */
  silentZones(): readonly string[]
}

interface Zone {
  readonly name: string
  readonly servers: readonly string[]
}

/**
 * DNS as the name servers of each zone say it now, so that what a resolver remembers of before misleads nobody. Where these can't be
 * found or do not answer, the resolver is believed. For the operator's own questions: strangers must not choose who is asked.
 * @param resolver finds the name servers, and follows aliases
 */
export function createAuthoritativeDns(resolver: Dns): AuthoritativeDns {
  const zones = new Map<string, Promise<Zone | undefined>>()
  const clients = new Map<string, Dns>()
  const silent = new Set<string>()

  function findZone(name: string): Promise<Zone | undefined> {
    const known = zones.get(name)
    if (known) return known
    const found = look(name)
    zones.set(name, found)
    return found
  }

  /** The closest name above, or this one, that has name servers. */
  async function look(name: string): Promise<Zone | undefined> {
    let hosts: unknown[]
    try {
      hosts = await resolver.resolve(name, 'NS')
    } catch (error) {
      // Of a zone that is broken those above would say that there is nothing in it.
      if (!isNone(error)) return undefined
      hosts = []
    }
    const names = hosts.filter((host): host is string => typeof host === 'string').slice(0, nameServersAsked)
    if (names.length === 0) {
      return name.includes('.') ? findZone(name.slice(name.indexOf('.') + 1)) : undefined
    }
    const addresses = await Promise.all(names.map(addressOf))
    const servers = addresses.flat()
    return servers.length > 0 ? { name, servers } : undefined
  }

  async function addressOf(host: string): Promise<string[]> {
    const ipv4 = await resolver.resolve4(host).catch(() => [])
    const found = ipv4.length > 0 ? ipv4 : await resolver.resolve6(host).catch(() => [])
    return found.slice(0, 1)
  }

  function clientOf({ name, servers }: Zone): Dns {
    const known = clients.get(name)
    if (known) return known
    const made = createDns({ servers, timeoutMs: nameServerMs })
    clients.set(name, made)
    return made
  }

  async function ask<T>(name: string, question: (dns: Dns) => Promise<T>): Promise<T> {
    const zone = await findZone(name)
    // A top-level domain delegates: its servers do not answer for others' zones.
    if (!zone?.name.includes('.')) return question(resolver)
    try {
      return await question(clientOf(zone))
    } catch (error) {
      if (!isNone(error)) silent.add(zone.name)
      // An alias leads out of the zone, which these servers do not follow.
      const aliases = isNone(error) ? await resolver.resolve(name, 'CNAME').catch(() => []) : []
      if (isNone(error) && aliases.length === 0) throw error
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
    findZone,
    silentZones: () => [...silent],
  }
}

function isNone(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ENOTFOUND' || code === 'ENODATA'
}
