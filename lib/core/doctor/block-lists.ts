import { noMeter } from '../../base/metrics.ts'
import { dnsTimeoutMs } from '../../base/network.ts'
import { createDnsLists } from '../../courier/dns-lists.ts'
import { mxAddresses } from '../../courier/mx.ts'
import { createDnsCache } from '../../mail/authentication/dns-cache.ts'
import { type Finding, finding, notChecked } from '../../mail/domain/finding.ts'
import { findAddresses } from '../../mail/domain/sources.ts'
import type { App } from '../app/app.ts'
import { sourcesOf } from '../domains/checks.ts'
import { leavesBySmarthost } from './doors.ts'

/** What most of those ask who refuse mail by a list. */
const wellKnown = ['zen.spamhaus.org', 'bl.spamcop.net']

/** Whether a list of spammers' addresses (RFC 5782) has one that mail leaves from: the lists of `dns_lists.zones`, or two that many ask. */
export async function checkBlockLists(app: App): Promise<Finding[]> {
  const { dns, clock, log, config } = app
  if (leavesBySmarthost(config)) return []
  const own = config.dns_lists.zones
  const zones = own.length > 0 ? own : wellKnown
  const lookup = createDnsCache({ dns, clock })
  const addresses = await findAddresses(lookup, config.hostname, sourcesOf(app)).catch(() => undefined)
  if (addresses === undefined) {
    return [
      notChecked(config.hostname, 'block lists were not asked: the addresses of this server are not known'),
    ]
  }
  const lists = createDnsLists({ dns, clock, log, meter: noMeter, zones, timeoutMs: dnsTimeoutMs })
  const found = await Promise.all(
    addresses.slice(0, mxAddresses).map(async address =>
      (await lists.standing(address)).map(({ zone, is }) => {
        if (is === 'unlisted') return []
        if (is === 'listed') {
          const message = `${zone} has this address, from which mail leaves, on its list: servers that ask it refuse your mail. Its web page says why and how to get off`
          return [finding('error', 'on_block_list', address, message)]
        }
        const message = `${zone} does not answer this server as lists do, and was not believed: large ones refuse public resolvers; ask by one of your own (dns.servers)`
        return [notChecked(zone, message, own.length > 0 ? 'warning' : 'hint')]
      }),
    ),
  )
  // What one list does is said once, of however many addresses it was asked.
  return [...new Map(found.flat(2).map(one => [`${one.code} ${one.subject}`, one])).values()]
}
