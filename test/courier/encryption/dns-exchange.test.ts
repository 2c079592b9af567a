import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { decode, encode, type Packet, RECURSION_DESIRED, TRUNCATED_RESPONSE } from 'dns-packet'
import t, { type Test } from 'tap'
import { exchange } from '../../../lib/courier/encryption/dns-exchange.ts'
import { bindBoth } from '../../support/dns.ts'

const question = {
  name: 'Mail.Example.',
  type: 'A',
  flags: RECURSION_DESIRED,
  wantsSignatures: true,
} as const
const address = { type: 'A', name: 'mail.example', ttl: 60, data: '192.0.2.1' } as const
/** Longer than any case here lasts: what ends only by it is late. */
const longMs = 60_000

/** The right answer to a query, but for these parts. */
function answerTo(query: Buffer, other: Partial<Packet> = {}): Buffer {
  const { id, questions } = decode(query)
  return encode({ type: 'response', id: id!, questions: questions!, answers: [address], ...other })
}

const truncated = (query: Buffer) => answerTo(query, { answers: [], flags: TRUNCATED_RESPONSE })

function framed(bytes: Buffer): Buffer {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(bytes.length)
  return Buffer.concat([length, bytes])
}

interface Script {
  /** What is sent back for the query with this number, from 1 on. */
  readonly udp: (query: Buffer, number: number) => readonly Buffer[]
  /** What is done once the whole query is there, without its length. */
  readonly tcp?: (query: Buffer, socket: Socket) => Promise<void> | void
}

/** A DNS server that says what it is told to, and keeps each query. */
async function serve(t: Test, { udp: overUdp, tcp: overTcp }: Script) {
  const heard: { over: 'udp' | 'tcp'; query: Buffer }[] = []
  const sockets = new Set<Socket>()
  const tcp = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    let input = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      input = Buffer.concat([input, chunk])
      if (input.length < 2 || input.length !== 2 + input.readUInt16BE(0)) return
      heard.push({ over: 'tcp', query: input.subarray(2) })
      void overTcp?.(input.subarray(2), socket)
    })
  })
  const { udp, port } = await bindBoth(tcp)
  udp.on('message', (query, peer) => {
    heard.push({ over: 'udp', query })
    for (const bytes of overUdp(query, heard.length)) udp.send(bytes, peer.port, peer.address)
  })
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy()
    const closed = Promise.all([once(udp, 'close'), once(tcp, 'close')])
    udp.close()
    tcp.close()
    await closed
  })
  return { server: `127.0.0.1:${port}`, heard, sockets }
}

t.test('a query is written as a whole, with and without a wish for signatures', async t => {
  const { server, heard } = await serve(t, { udp: query => [answerTo(query)] })
  for (const wantsSignatures of [true, false]) {
    await exchange(server, { ...question, wantsSignatures }, longMs)
    const { query } = heard.at(-1)!
    t.equal(
      query.toString('hex', 2),
      [
        // The header: recursion is desired; one question, one additional record.
        ...['0100', '0001', '0000', '0000', '0001'],
        // The question: mail.example, A, IN.
        ...['044d61696c', '074578616d706c65', '00', '0001', '0001'],
        // OPT: of the root, 1232 bytes, no version, the DO bit or none, no options.
        ...['00', '0029', '04d0', '0000', wantsSignatures ? '8000' : '0000', '0000'],
      ].join(''),
    )
  }
})

t.test('only the answer to the very question is taken', async t => {
  const others = (query: Buffer): Buffer[] => {
    const { id = 0 } = decode(query)
    const wrong = [{ ...address, data: '203.0.113.9' }]
    return [
      Buffer.from('nonsense'),
      Buffer.alloc(0),
      query,
      answerTo(query, { answers: wrong, id: id ^ 1 }),
      answerTo(query, { answers: wrong, questions: [] }),
      answerTo(query, { answers: wrong, questions: [{ name: 'mail.example', type: 'AAAA', class: 'IN' }] }),
      answerTo(query, { answers: wrong, questions: [{ name: 'mail.example.net', type: 'A', class: 'IN' }] }),
    ]
  }
  const { server, heard } = await serve(t, {
    udp: query => [
      ...others(query),
      answerTo(query, { questions: [{ name: 'MAIL.example', type: 'A', class: 'IN' }] }),
    ],
  })
  const { answers, flag_tc: isCutOff } = await exchange(server, question, longMs)
  t.match(answers, [{ name: 'mail.example', type: 'A', ttl: 60, data: '192.0.2.1' }])
  t.equal(isCutOff, false)
  t.equal(heard.length, 1)
})

t.test('what has no answer is asked again, and the same', async t => {
  const { server, heard } = await serve(t, {
    udp: (query, number) => (number === 1 ? [] : [answerTo(query)]),
  })
  const { answers } = await exchange(server, question, 3_000)
  t.match(answers, [{ data: '192.0.2.1' }])
  t.ok(heard.length >= 2)
  t.strictSame(heard[1], heard[0])
})

t.test('what is too long for UDP is asked by TCP, and read in whichever pieces it comes', async t => {
  const { server, heard, sockets } = await serve(t, {
    udp: query => [truncated(query)],
    async tcp(query, socket) {
      socket.setNoDelay(true)
      for (const byte of framed(answerTo(query)))
        await new Promise<void>(resolve => socket.write(Buffer.from([byte]), () => resolve()))
      socket.write('what follows is not looked at')
    },
  })
  const { answers } = await exchange(server, question, longMs)
  t.match(answers, [{ data: '192.0.2.1' }])
  t.strictSame(
    heard.map(({ over }) => over),
    ['udp', 'tcp'],
  )
  t.strictSame(heard[1]!.query, heard[0]!.query)
  await Promise.all([...sockets].filter(one => !one.closed).map(one => once(one.resume(), 'close')))
  t.pass('the connection is let go')
})

t.test('a server that fails is told by the code that node:dns has for it', async t => {
  const byTcp = (tcp: Script['tcp']): Script => ({ udp: query => [truncated(query)], ...(tcp && { tcp }) })
  const cases: Readonly<Record<string, readonly [Script, code: string, message: string, ms?: number]>> = {
    'silent by UDP': [{ udp: () => [] }, 'ETIMEOUT', 'DNS gave no answer for mail.example', 50],
    'silent by TCP': [byTcp(undefined), 'ETIMEOUT', 'DNS gave no answer for mail.example', 1_000],
    'closed by TCP': [
      byTcp((_query, socket) => void socket.end()),
      ...(['ECONNRESET', 'the DNS server closed the connection'] as const),
    ],
    'closed in the midst of the length': [
      byTcp((_query, socket) => void socket.end(Buffer.from([0]))),
      ...(['ECONNRESET', 'the DNS server closed the connection'] as const),
    ],
    'closed before the last byte': [
      byTcp((query, socket) => void socket.end(framed(answerTo(query)).subarray(0, -1))),
      ...(['ECONNRESET', 'the DNS server closed the connection'] as const),
    ],
    'something else by TCP': [
      byTcp(
        (query, socket) => void socket.end(framed(answerTo(query, { id: 0x10000 - 1 - decode(query).id! }))),
      ),
      ...(['EBADRESP', 'DNS answered something else for mail.example'] as const),
    ],
    'nothing by TCP': [
      byTcp((_query, socket) => void socket.end(framed(Buffer.alloc(0)))),
      ...(['EBADRESP', 'DNS answered something else for mail.example'] as const),
    ],
  }
  for (const [name, [script, code, message, ms = longMs]] of Object.entries(cases)) {
    const { server } = await serve(t, script)
    await t.rejects(exchange(server, question, ms), { code, message }, name)
  }
})
