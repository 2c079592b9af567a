import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import {
  type Answer,
  AUTHENTIC_DATA,
  type DecodedPacket,
  decode,
  encode,
  type Packet,
  RECURSION_DESIRED,
  type RecordType,
} from 'dns-packet'
import { limits } from '../../base/limits.ts'

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

const tries = 3

/**
 * Asks over UDP, and over TCP what was too long for it.
 * @param options.server "address:port" of the resolver
 * @param options.timeoutMs what one question may take
 */
export function createSecureDns({ server, timeoutMs }: { server: string; timeoutMs: number }): SecureDns {
  const at = server.lastIndexOf(':')
  const to = { host: server.slice(0, at).replace(/^\[(.*)\]$/, '$1'), port: Number(server.slice(at + 1)) }
  return {
    async ask(name, type) {
      const signal = AbortSignal.timeout(timeoutMs)
      const query = queryOf(name, type)
      let answer = await overUdp(to, query, timeoutMs / tries, signal)
      if (answer.flag_tc) answer = await overTcp(to, query, signal)
      return read(answer, query)
    },
  }
}

interface Server {
  readonly host: string
  readonly port: number
}

interface Query {
  readonly id: number
  readonly name: string
  readonly type: RecordType
  readonly bytes: Buffer
}

function queryOf(name: string, type: RecordType): Query {
  const id = randomInt(0x10000)
  const packet: Packet = {
    type: 'query',
    id,
    // AD in a question asks for AD in the answer (RFC 6840 §5.7).
    flags: RECURSION_DESIRED | AUTHENTIC_DATA,
    questions: [{ type, name, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 1232,
        flags: 0,
        options: [],
        extendedRcode: 0,
        ednsVersion: 0,
        flag_do: false,
      },
    ],
  }
  try {
    return { id, name: normal(name), type, bytes: encode(packet) }
  } catch {
    throw fault('EBADNAME', `${name} can not be asked for`)
  }
}

/** The answer to this question, or undefined: it is something else. */
function answerIn(bytes: Buffer, { id, name, type }: Query): DecodedPacket | undefined {
  let packet: DecodedPacket
  try {
    packet = decode(bytes)
  } catch {
    return undefined
  }
  const [question] = packet.questions ?? []
  const isOurs = packet.type === 'response' && packet.id === id && question?.type === type
  return isOurs && normal(question?.name ?? '') === name ? packet : undefined
}

function read(packet: DecodedPacket, { name, type }: Query): SecureAnswer {
  const { rcode } = packet as DecodedPacket & { rcode: string }
  if (rcode !== 'NOERROR' && rcode !== 'NXDOMAIN')
    throw fault(`E${rcode}`, `DNS answered ${rcode} for ${name}`)
  const answers = (packet.answers ?? []).slice(0, limits.dnsRecords)
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

function overUdp(to: Server, query: Query, gapMs: number, signal: AbortSignal): Promise<DecodedPacket> {
  const socket = createSocket(isIPv6(to.host) ? 'udp6' : 'udp4')
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    const end = () => {
      clearInterval(timer)
      signal.removeEventListener('abort', late)
      socket.close()
    }
    const fail = (error: Error) => {
      end()
      reject(error)
    }
    const late = () => fail(fault('ETIMEOUT', `DNS gave no answer for ${query.name}`))
    signal.addEventListener('abort', late, { once: true })
    socket.once('error', error => fail(error))
    socket.on('message', bytes => {
      const answer = answerIn(bytes, query)
      if (answer === undefined) return
      end()
      resolve(answer)
    })
    // Connected: what comes from elsewhere is not heard.
    socket.connect(to.port, to.host, () => {
      const ask = () => socket.send(query.bytes, () => {})
      ask()
      timer = setInterval(ask, gapMs)
    })
  })
}

function overTcp(to: Server, query: Query, signal: AbortSignal): Promise<DecodedPacket> {
  const socket = connect({ host: to.host, port: to.port })
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      signal.removeEventListener('abort', late)
      socket.destroy()
      reject(error)
    }
    const late = () => fail(fault('ETIMEOUT', `DNS gave no answer for ${query.name}`))
    signal.addEventListener('abort', late, { once: true })
    socket.on('error', fail)
    socket.once('close', () => fail(fault('ECONNRESET', 'the DNS server closed the connection')))
    let heard = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      heard = Buffer.concat([heard, chunk])
      const length = heard.length < 2 ? Number.POSITIVE_INFINITY : heard.readUInt16BE(0)
      if (heard.length < 2 + length) return
      const answer = answerIn(heard.subarray(2, 2 + length), query)
      if (answer === undefined)
        return fail(fault('EBADRESP', `DNS answered something else for ${query.name}`))
      signal.removeEventListener('abort', late)
      socket.destroy()
      resolve(answer)
    })
    const length = Buffer.alloc(2)
    length.writeUInt16BE(query.bytes.length)
    socket.write(Buffer.concat([length, query.bytes]))
  })
}

function normal(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
