import type { Log } from '../base/log.ts'
import type { Meter } from '../base/metrics.ts'
import { type Dns, reversedAddress } from '../base/network.ts'
import type { Clock } from '../base/time.ts'

/** How long the test of a DNS list is believed. */
const dnsListTestMs = 600_000

/** Lists of addresses that are published in DNS (RFC 5782). */
export interface DnsLists {
  /** The zone of the first list that has the address; undefined when none has it, or none says so in time. Never rejects. */
  find(address: string): Promise<string | undefined>
  /** What each list says of an address, as far as it has addresses of its family. Never rejects. */
  standing(address: string): Promise<ListStanding[]>
  /** Tests all of them, so that the log says which are not asked before mail comes. Never rejects. */
  test(): Promise<void>
}

export interface ListStanding {
  readonly zone: string
  /** unknown: it is not believed, or gave no answer in time. */
  readonly is: 'listed' | 'unlisted' | 'unknown'
}

export interface DnsListsOptions {
  readonly dns: Dns
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  readonly zones: readonly string[]
  /** How long the lists may take together to answer about one address. */
  readonly timeoutMs: number
}

/** What every list has and has not (RFC 5782 §5), by the family of addresses. */
const probes = {
  ipv4: { listed: '127.0.0.2', unlisted: '127.0.0.1' },
  ipv6: { listed: '::FFFF:7F00:2', unlisted: '::FFFF:7F00:1' },
} as const
type Family = keyof typeof probes

/** Whether a list answers as one does: of addresses of the family, with something else, or not having any of the family. */
type Trust = 'trusted' | 'untrusted' | 'other family'

interface Belief {
  readonly trust: Promise<Trust>
  readonly untilMs: number
}

/**
 * A list is believed after it has passed the test of RFC 5782 §5, for each family of addresses, and is tested again every
 * so often: one that was shut down answers nothing, or lists the whole world.
 */
export function createDnsLists({ dns, clock, log, meter, zones, timeoutMs }: DnsListsOptions): DnsLists {
  const beliefs = new Map<string, Belief>()

  /** Whether a list has an address; undefined when that is not known. */
  async function ask(zone: string, reversed: string): Promise<boolean | undefined> {
    try {
      return (await dns.resolve4(`${reversed}.${zone}`)).some(isListing)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? error.code : undefined
      return code === 'ENOTFOUND' || code === 'ENODATA' ? false : undefined
    }
  }

  async function test(zone: string, family: Family): Promise<Trust> {
    const { listed, unlisted } = probes[family]
    const [hasListed, hasUnlisted] = await Promise.all([
      ask(zone, reversedProbe(listed)),
      ask(zone, reversedProbe(unlisted)),
    ])
    const isTrusted = hasListed === true && hasUnlisted === false
    // Most lists have no IPv6 at all, and say that of everything: nothing that somebody should see to.
    const isOfOtherFamily = family === 'ipv6' && hasListed === false && hasUnlisted === false
    if (isTrusted) return 'trusted'
    if (isOfOtherFamily) {
      log.debug({ zone }, 'a DNS list has no IPv6; not asked of it')
      return 'other family'
    }
    log.warn({ zone, family, hasListed, hasUnlisted }, 'a DNS list fails the test of RFC 5782; not asked')
    return 'untrusted'
  }

  function trustIn(zone: string, family: Family): Promise<Trust> {
    const name = `${family} ${zone}`
    const known = beliefs.get(name)
    const now = clock.monotonicMs()
    if (known && known.untilMs > now) return known.trust
    const belief = { trust: test(zone, family), untilMs: now + dnsListTestMs }
    beliefs.set(name, belief)
    return belief.trust
  }

  async function standingOf(
    zone: string,
    { family, labels }: { family: Family; labels: string },
  ): Promise<ListStanding | undefined> {
    const trust = await trustIn(zone, family)
    if (trust === 'other family') return undefined
    const isListed = trust === 'trusted' ? await ask(zone, labels) : undefined
    return { zone, is: isListed === undefined ? 'unknown' : isListed ? 'listed' : 'unlisted' }
  }

  /** In the order of the lists; undefined for one that has no such addresses. */
  async function look(address: string): Promise<(ListStanding | undefined)[]> {
    const reversed = reversedAddress(address)
    if (!reversed || zones.length === 0) return []
    const found: (ListStanding | undefined)[] = zones.map(zone => ({ zone, is: 'unknown' }))
    const all = Promise.all(
      zones.map(async (zone, index) => (found[index] = await standingOf(zone, reversed))),
    )
    await Promise.race([all, after(timeoutMs)])
    return [...found]
  }

  return {
    async test() {
      const families = Object.keys(probes) as Family[]
      await Promise.all(zones.flatMap(zone => families.map(family => trustIn(zone, family))))
    },
    async find(address) {
      const found = await look(address)
      for (const one of found) if (one) meter.count('dns_list_answers_total', one.zone, one.is)
      return found.find(one => one?.is === 'listed')?.zone
    },
    async standing(address) {
      const found = await look(address)
      return found.filter(one => one !== undefined)
    },
  }
}

/** RFC 5782 §2.1 has lists answer in 127.0.0.0/8; in 127.255.255.0/24 the large ones say that they refuse to answer. */
function isListing(answer: string): boolean {
  return answer.startsWith('127.') && !answer.startsWith('127.255.255.')
}

function reversedProbe(address: string): string {
  return reversedAddress(address, 'as it is')!.labels
}

function after(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms).unref())
}
