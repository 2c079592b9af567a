import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, isIP, isIPv6, type Socket } from 'node:net'
import { type Answer, decode, encode, type Packet, type Question, TRUNCATED_RESPONSE } from 'dns-packet'

/** The records of one name. TXT: a text, or its character-strings; MX: exchange '' is the null MX. */
export interface DnsRecords {
  A?: readonly string[]
  AAAA?: readonly string[]
  MX?: readonly { readonly priority: number; readonly exchange: string }[]
  TXT?: readonly (string | readonly string[])[]
  PTR?: readonly string[]
  CNAME?: readonly string[]
  NS?: readonly string[]
}
/** Names to their records. An IP address as a name stands for its reverse name, for PTR. */
export type DnsZone = Readonly<Record<string, DnsRecords>>
export type DnsFailure = 'SERVFAIL' | 'timeout'

export interface TestDns {
  /** "127.0.0.1:port", for createDns({ servers: [server] }). */
  readonly server: string
  /** Replaces the records of one type; an empty list takes them away. */
  set<T extends keyof DnsRecords>(name: string, type: T, records: NonNullable<DnsRecords[T]>): void
  /** Makes every query for the name fail, until `clear`. */
  fail(name: string, how: DnsFailure): void
  clear(name: string): void
  /** What was asked, in order; retries and TCP repetitions each count. */
  readonly queries: readonly { readonly name: string; readonly type: string; readonly over: 'udp' | 'tcp' }[]
  close(): Promise<void>
}

const authoritative = 0x0400
const recursionAvailable = 0x0080
const nxdomain = 3
const servfail = 2

/** The name that a PTR record of `address` stands at. */
export function reverseName(address: string): string {
  if (!isIPv6(address)) return `${address.split('.').reverse().join('.')}.in-addr.arpa`
  const [head = '', tail = ''] = address.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === '' ? [] : tail.split(':')
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
  const nibbles = groups.map(group => group.padStart(4, '0')).join('')
  return `${[...nibbles].reverse().join('.')}.ip6.arpa`
}

function keyOf(name: string): string {
  return (isIP(name) ? reverseName(name) : name).toLowerCase().replace(/\.$/, '')
}

function characterStrings(text: string | readonly string[]): string[] {
  if (typeof text !== 'string') return [...text]
  return text.length === 0 ? [''] : (text.match(/.{1,255}/gs) ?? [])
}

function answersOf(name: string, type: string, records: DnsRecords): Answer[] {
  const ttl = 60
  switch (type) {
    case 'A':
    case 'AAAA':
    case 'PTR':
    case 'CNAME':
    case 'NS':
      return (records[type] ?? []).map(data => ({ type, name, ttl, data }))
    case 'MX':
      return (records.MX ?? []).map(({ priority, exchange }) => ({
        type,
        name,
        ttl,
        data: { preference: priority, exchange: exchange === '' ? '.' : exchange },
      }))
    case 'TXT':
      return (records.TXT ?? []).map(text => ({ type, name, ttl, data: characterStrings(text) }))
    default:
      return []
  }
}

/** A real DNS server for tests: UDP and TCP on 127.0.0.1, authoritative for `zone` and for nothing else. */
export async function startDns(zone: DnsZone = {}): Promise<TestDns> {
  const names = new Map<string, DnsRecords>()
  const failures = new Map<string, DnsFailure>()
  const queries: { name: string; type: string; over: 'udp' | 'tcp' }[] = []
  for (const [name, records] of Object.entries(zone)) names.set(keyOf(name), { ...records })

  function exists(name: string): boolean {
    for (const [known, records] of names) {
      const isHere = known === name || known.endsWith(`.${name}`)
      if (isHere && Object.values(records).some(list => list.length > 0)) return true
    }
    return false
  }

  function lookUp(question: Question): { answers: Answer[]; rcode: number } {
    const answers: Answer[] = []
    let name = question.name
    for (let links = 0; links < 8; links++) {
      const records = names.get(keyOf(name)) ?? {}
      const found = answersOf(name, question.type, records)
      answers.push(...found)
      const target = records.CNAME?.[0]
      if (found.length > 0 || target === undefined) break
      answers.push({ type: 'CNAME', name, ttl: 60, data: target })
      name = target
    }
    return { answers, rcode: exists(keyOf(name)) ? 0 : nxdomain }
  }

  function respond(message: Buffer, over: 'udp' | 'tcp'): Buffer | undefined {
    let query: Packet
    try {
      query = decode(message)
    } catch {
      return undefined
    }
    const question = query.questions?.[0]
    if (question === undefined || query.id === undefined) return undefined
    queries.push({ name: question.name, type: question.type, over })
    const failure = failures.get(keyOf(question.name))
    if (failure === 'timeout') return undefined
    const { answers, rcode } = failure === 'SERVFAIL' ? { answers: [], rcode: servfail } : lookUp(question)
    const flags = (query.flags ?? 0) | authoritative | recursionAvailable | rcode
    const response: Packet = { type: 'response', id: query.id, flags, questions: [question], answers }
    const bytes = encode(response)
    const largest = query.additionals?.find(extra => extra.type === 'OPT')?.udpPayloadSize ?? 512
    if (over === 'tcp' || bytes.length <= largest) return bytes
    return encode({ ...response, answers: [], flags: flags | TRUNCATED_RESPONSE })
  }

  const sockets = new Set<Socket>()
  const tcp = createServer(socket => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    let input = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      input = Buffer.concat([input, chunk])
      while (input.length >= 2 && input.length >= 2 + input.readUInt16BE(0)) {
        const end = 2 + input.readUInt16BE(0)
        const bytes = respond(input.subarray(2, end), 'tcp')
        input = input.subarray(end)
        if (bytes === undefined) continue
        const length = Buffer.alloc(2)
        length.writeUInt16BE(bytes.length)
        socket.write(Buffer.concat([length, bytes]))
      }
    })
  })
  const { udp, port } = await bindBoth(tcp)
  udp.on('message', (message, peer) => {
    const bytes = respond(message, 'udp')
    if (bytes !== undefined) udp.send(bytes, peer.port, peer.address)
  })
  udp.on('error', () => {})

  return {
    server: `127.0.0.1:${port}`,
    queries,
    set(name, type, records) {
      names.set(keyOf(name), { ...names.get(keyOf(name)), [type]: records })
    },
    fail: (name, how) => void failures.set(keyOf(name), how),
    clear: name => void failures.delete(keyOf(name)),
    async close() {
      for (const socket of sockets) socket.destroy()
      const closed = Promise.all([once(udp, 'close'), once(tcp, 'close')])
      udp.close()
      tcp.close()
      await closed
    },
  }
}

/** TCP on a free port of 127.0.0.1, and UDP on the same one; another port when UDP's is taken. */
export async function bindBoth(tcp: ReturnType<typeof createServer>) {
  for (;;) {
    tcp.listen(0, '127.0.0.1')
    await once(tcp, 'listening')
    const bound = tcp.address()
    if (bound === null || typeof bound === 'string') throw new Error('the test DNS server has no port')
    const udp = createSocket('udp4')
    try {
      udp.bind(bound.port, '127.0.0.1')
      await once(udp, 'listening')
      return { udp, port: bound.port }
    } catch {
      udp.close()
      tcp.close()
      await once(tcp, 'close')
    }
  }
}
