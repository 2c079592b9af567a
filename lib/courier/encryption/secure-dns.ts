import {
  type Answer,
  AUTHENTIC_DATA,
  type DecodedPacket,
  RECURSION_DESIRED,
  type RecordType,
} from 'dns-packet'
import { exchange, fault, normal } from './dns-exchange.ts'

/** Records of one answer of DNS that are read. */
export const dnsRecords = 64

/** What a validating resolver says of a name and type. */
export interface SecureAnswer {
  /** Those of the type that was asked for; none: there are none. */
  readonly records: readonly Answer[]
  /** Whether the name is there at all. */
  readonly exists: boolean
  /** The name that the records stand at: that of the question, or what its CNAMEs lead to. */
  readonly canonical: string
  /** Whether the resolver authenticated all of it, also that there is nothing (RFC 4035 §3.2.3: the AD bit). */
  readonly isAuthentic: boolean
}

/** DNS by a validating resolver that is trusted because it is on this machine. */
export interface SecureDns {
  /** @throws Error with a `code` as node:dns has: nothing is known. What does not validate is ESERVFAIL. */
  ask(name: string, type: RecordType): Promise<SecureAnswer>
}

/**
 * @param options.server "address:port" of the resolver
 * @param options.timeoutMs what one question may take
 */
export function createSecureDns({ server, timeoutMs }: { server: string; timeoutMs: number }): SecureDns {
  return {
    async ask(name, type) {
      // AD in a question asks for AD in the answer (RFC 6840 §5.7).
      const flags = RECURSION_DESIRED | AUTHENTIC_DATA
      return read(
        await exchange(server, { name, type, flags, wantsSignatures: false }, timeoutMs),
        normal(name),
        type,
      )
    },
  }
}

function read(packet: DecodedPacket, name: string, type: RecordType): SecureAnswer {
  const { rcode } = packet as DecodedPacket & { rcode: string }
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN')
    throw fault(`E${rcode}`, `DNS answered ${rcode} for ${name}`)
  const answers = (packet.answers ?? []).slice(0, dnsRecords)
  let canonical = name
  for (const answer of answers)
    if (answer.type === 'CNAME' && normal(answer.name) === canonical) canonical = normal(answer.data)
  const isHere = (answer: Answer) =>
    answer.type === type && 'name' in answer && normal(answer.name) === canonical
  return {
    records: answers.filter(isHere),
    exists: rcode === 'NOERROR',
    canonical,
    isAuthentic: packet.flag_ad === true,
  }
}
