import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import t from 'tap'
import { delivery, hosts, loopback, outcomeOf, raw } from '../courier/loopback.ts'
import { fuzz } from '../support/fuzz.ts'

const results = ['delivered', 'permanent', 'transient']

t.test('whatever a mail server answers, the attempt ends with an outcome', async t => {
  const { courier, port } = await loopback(t, [], {
    timeouts: {
      connectMs: 300,
      greetingMs: 300,
      commandMs: 300,
      dataBlockMs: 300,
      finalReplyMs: 300,
      resetMs: 1000,
      quitMs: 50,
      totalMs: 2000,
    },
  })
  let replies: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer(socket => {
    sockets.add(socket)
    const say = () => {
      const reply = replies.shift()
      if (reply === undefined) socket.destroy()
      else socket.write(Buffer.from(reply, 'latin1'))
    }
    socket.on('error', () => {})
    socket.on('data', say)
    socket.on('close', () => sockets.delete(socket))
    say()
  })
  server.listen(port, hosts[0])
  await once(server, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  await fuzz(
    t,
    {
      seeds: [
        '220 mx ESMTP\r\n|250-mx\r\n250-SIZE 1000000\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250-STARTTLS\r\n250 PIPELINING\r\n|250 2.1.0 ok\r\n|250 ok\r\n|354 go\r\n|250 2.0.0 taken as 1\r\n|221 bye\r\n',
        '220 mx\r\n|502 no\r\n|250 mx\r\n|250 ok\r\n|550 5.1.1 <b@there.example>: no such user\r\n|221 bye\r\n',
        '220 mx\r\n|250 mx\r\n|451 4.7.1 greylisted, come again in 5 minutes\r\n|221 bye\r\n',
      ],
      words: [
        '|',
        '\r\n',
        '\n',
        '\r',
        '-',
        ' ',
        '250',
        '550-',
        '421 4.3.2 shutting down\r\n',
        '999 x\r\n',
        '2.0.0',
        '5.1.1.1',
        '\0',
        '\xff\xfe',
        'x'.repeat(3000),
        '250 '.repeat(500),
        'STARTTLS',
        'SIZE 0',
        'SIZE -1',
      ],
      most: 16_384,
    },
    async input => {
      replies = input.toString('latin1').split('|')
      const outcome = await outcomeOf(courier, delivery(), raw)
      if (!results.includes(outcome.result)) throw new Error(`the outcome ${outcome.result}`)
      if (/[\0-\x08\x0a-\x1f\x7f]/.test(outcome.text))
        throw new Error(`control characters in ${JSON.stringify(outcome.text)}`)
      if (outcome.text.length > 2000) throw new Error(`${outcome.text.length} characters are kept of it`)
    },
  )
})
