import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { decode, encode } from 'dns-packet'
import t from 'tap'
import { createDns } from '../../lib/courier/dns.ts'
import { fuzz } from '../support/fuzz.ts'

t.test('whatever a name server answers, it is records or a fault with its code', async t => {
  const server = createSocket('udp4')
  let answer: Buffer = Buffer.alloc(0)
  server.on('message', (query, from) => {
    const reply = Buffer.from(answer)
    // The id of the question, or nothing would be read.
    query.copy(reply, 0, 0, Math.min(2, reply.length))
    server.send(reply, from.port, from.address)
  })
  server.bind(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const dns = createDns({ servers: [`127.0.0.1:${server.address().port}`], timeoutMs: 40 })
  const packet = (type: 'MX' | 'TXT' | 'A' | 'PTR', data: unknown) =>
    encode({
      type: 'response',
      id: 0,
      flags: 0x0580,
      questions: [{ type, name: 'a.example' }],
      answers: [{ type, name: 'a.example', ttl: 60, data } as never],
    })
  await fuzz(
    t,
    {
      seeds: [
        packet('MX', { preference: 10, exchange: 'mx.a.example' }),
        packet('TXT', ['v=spf1 include:a.example -all']),
        packet('A', '192.0.2.1'),
        packet('PTR', 'b.example'),
      ],
      words: ['\xc0\x0c', '\xc0\xc0', '\0', '\xff\xff', '\x3f', 'v=spf1 ', '\0\x0f\0\x01'],
      most: 512,
    },
    async (input, chance) => {
      answer = input
      const asked = [
        () => dns.resolveMx('a.example'),
        () => dns.resolveTxt('a.example'),
        () => dns.resolve4('a.example'),
        () => dns.reverse('192.0.2.1'),
      ]
      const found = await chance
        .of(asked)()
        .catch((error: NodeJS.ErrnoException) => {
          if (typeof error.code !== 'string' || !/^E[A-Z]+$/.test(error.code)) throw error
          return []
        })
      if (!Array.isArray(found)) throw new Error(`no list: ${found}`)
    },
  )
  t.ok(decode(packet('A', '192.0.2.1')).answers?.length, 'the answers that are altered can be read')
})
