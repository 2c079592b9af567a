import { CHECKING_DISABLED, type DecodedPacket, type RecordType } from 'dns-packet'
import type { ZoneSigning } from '../../mail/domain/dnssec-advice.ts'
import { exchange } from './dns-exchange.ts'
import { dnsRecords } from './secure-dns.ts'

/** Name servers, as "address" or "address:port". */
type Servers = readonly string[]

/**
 * What stands of DNSSEC in a zone and of it in the zone above, without judging it.
 * @param places the name servers of either zone
 * @throws Error with a `code` as node:dns has: none of the servers of a zone says
 */
export async function findSigning(
  zone: string,
  { own, above }: { readonly own: Servers; readonly above: Servers },
  timeoutMs: number,
): Promise<ZoneSigning> {
  const ask = (servers: Servers, type: RecordType) => askOne(servers, zone, type, timeoutMs)
  const [signers, keys, start] = await Promise.all([ask(above, 'DS'), ask(own, 'DNSKEY'), ask(own, 'SOA')])
  const answers = [...read(keys), ...read(start)]
  return {
    signers: read(signers).flatMap(one => (one.type === 'DS' ? [one.data] : [])),
    keys: answers.flatMap(one => (one.type === 'DNSKEY' ? [one.data] : [])),
    signatures: answers.flatMap(one => {
      if (one.type !== 'RRSIG') return []
      const { typeCovered, inception, expiration } = one.data
      return [{ covers: typeCovered, inception: inception ?? 0, expiration: expiration ?? 0 }]
    }),
  }
}

function read({ answers }: DecodedPacket) {
  return (answers ?? []).slice(0, dnsRecords)
}

/** The first server that answers. */
async function askOne(
  servers: Servers,
  name: string,
  type: RecordType,
  timeoutMs: number,
): Promise<DecodedPacket> {
  let last: unknown
  for (const server of servers) {
    try {
      const question = { name, type, flags: CHECKING_DISABLED, wantsSignatures: true }
      const packet = await exchange(server, question, timeoutMs / servers.length)
      const { rcode } = packet as DecodedPacket & { rcode: string }
      if (rcode === 'NOERROR') return packet
      last = Object.assign(new Error(`DNS answered ${rcode} for ${name}`), { code: `E${rcode}` })
    } catch (error) {
      last = error
    }
  }
  throw last ?? Object.assign(new Error(`there is nobody to ask for ${name}`), { code: 'ENOTFOUND' })
}
