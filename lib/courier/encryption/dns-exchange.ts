import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { connect, isIPv6 } from 'node:net'
import { type DecodedPacket, DNSSEC_OK, decode, encode, type Packet, type RecordType } from 'dns-packet'

/** What is asked of a DNS server. */
export interface DnsQuestion {
  readonly name: string
  readonly type: RecordType
  /** Of the header, such as RECURSION_DESIRED. */
  readonly flags: number
  /** Whether the DNSSEC records that belong to the answer are to be in it (the DO bit, RFC 4035 §3.2.1). */
  readonly wantsSignatures: boolean
}

const tries = 3
const port = 53

/**
 * One question to one server, over UDP, and over TCP what was too long for it.
 * @param server "address" or "address:port"
 * @param timeoutMs what it may take in all
 * @throws Error with a `code` as node:dns has: there was no answer to this question
 */
export async function exchange(
  server: string,
  question: DnsQuestion,
  timeoutMs: number,
): Promise<DecodedPacket> {
  const to = placeOf(server)
  const signal = AbortSignal.timeout(timeoutMs)
  const query = queryOf(question)
  const answer = await overUdp(to, query, timeoutMs / tries, signal)
  return answer.flag_tc ? overTcp(to, query, signal) : answer
}

function placeOf(server: string): Server {
  const withPort = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(server)
  if (withPort) return { host: (withPort[1] ?? withPort[2])!, port: Number(withPort[3]) }
  return { host: server.replace(/^\[|\]$/g, ''), port }
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

function queryOf({ name, type, flags, wantsSignatures }: DnsQuestion): Query {
  const id = randomInt(0x10000)
  const packet: Packet = {
    type: 'query',
    id,
    flags,
    questions: [{ type, name, class: 'IN' }],
    additionals: [
      {
        type: 'OPT',
        name: '.',
        udpPayloadSize: 1232,
        flags: wantsSignatures ? DNSSEC_OK : 0,
        options: [],
        extendedRcode: 0,
        ednsVersion: 0,
        flag_do: wantsSignatures,
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

/** A name as names are compared: lower-case, without a final dot. */
export function normal(name: string): string {
  return name.toLowerCase().replace(/\.$/, '')
}

/** An error as node:dns has them. */
export function fault(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}
