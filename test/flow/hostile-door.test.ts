import { connect, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { turnsDuring } from '../support/event-loop.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

/** A connection that nobody has to be polite on; it never throws. */
async function barge(port: number, localAddress: string): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  await new Promise<void>(resolve => {
    socket
      .on('error', () => {})
      .on('connect', resolve)
      .on('close', () => resolve())
  })
  return socket.resume()
}

/** Waits for more bytes, or the end; but not for long. */
async function hear(socket: Socket): Promise<void> {
  const known = socket.bytesRead
  for (let turn = 0; turn < 500 && !socket.destroyed && socket.bytesRead === known; turn++)
    await setImmediate()
}

const linesOfAFlood = 1000
const begin = 'MAIL FROM:<eve@evil.example>\r\nRCPT TO:<ann@ours.example>\r\nDATA\r\n'

/** Each is one session of a hostile client; what it writes comes at once, or byte by byte. */
const attacks: Record<string, (socket: Socket) => Promise<void>> = {
  async speaksAtOnce(socket) {
    socket.write(`EHLO evil.example\r\n${begin}`)
    await hear(socket)
  },
  async isSlow(socket) {
    for (const byte of 'EHLO evil.example\r\nMAIL FROM:<eve@evil.example>\r\nRCPT TO:<an') {
      socket.write(byte)
      await setImmediate()
    }
  },
  async floods(socket) {
    await hear(socket)
    socket.write('EHLO evil.example\r\n')
    await hear(socket)
    // It does not read the answers.
    socket.pause()
    socket.write('NOOP\r\n'.repeat(linesOfAFlood))
    await setImmediate()
  },
  async talksGarbage(socket) {
    await hear(socket)
    for (let count = 0; count < 20; count++) {
      socket.write(Buffer.from(Array.from({ length: 500 }, (_, index) => (index * 7 + count * 13) % 256)))
      await setImmediate()
    }
  },
  async sendsHugeLines(socket) {
    await hear(socket)
    socket.write('x'.repeat(200_000))
    await hear(socket)
  },
  async sendsNuls(socket) {
    await hear(socket)
    socket.write('EHLO evil.example\r\n')
    await hear(socket)
    socket.write(`\0\0\0\n\nNOOP\0\r\n${begin}Subject: nul\r\n\r\n${'\0'.repeat(50_000)}\r\n.\r\n`)
    await hear(socket)
    await hear(socket)
  },
  async guesses(socket) {
    await hear(socket)
    socket.write('EHLO evil.example\r\n')
    await hear(socket)
    const guesses = Array.from({ length: 60 }, (_, index) => `RCPT TO:<guess${index}@ours.example>\r\n`)
    socket.write(`MAIL FROM:<eve@evil.example>\r\n${guesses.join('')}`)
    for (let count = 0; count < 5; count++) await hear(socket)
  },
  async neverEnds(socket) {
    await hear(socket)
    socket.write('EHLO evil.example\r\n')
    await hear(socket)
    socket.write(`${begin}Subject: endless\r\n\r\n${'.. and so on\r\n'.repeat(5000)}`)
    await setImmediate()
  },
  async saysNothing() {
    for (let count = 0; count < 200; count++) await setImmediate()
  },
}

t.test('whatever hostile clients do, a good one gets its mail in', async t => {
  const door = await openDoor(t, {
    smtp: `max_connections = 40
max_connections_per_address = 3
max_connections_per_block = 20
connections_per_minute_per_address = 2000
connections_per_minute_per_block = 4000
messages_per_minute_per_address = 500
messages_per_minute_per_block = 1000`,
  })
  await door.inbox('ann')
  const isDone = { now: false }
  const sessions: Record<string, number> = {}
  const attack = async (name: string, localAddress: string) => {
    while (!isDone.now) {
      const socket = await barge(door.port, localAddress)
      sessions[name] = (sessions[name] ?? 0) + 1
      await attacks[name]!(socket)
      // Some hang up, some just leave.
      if (sessions[name] % 2) socket.resetAndDestroy()
      else socket.destroy()
      await setImmediate()
    }
  }
  const storm = async (localAddress: string) => {
    while (!isDone.now) {
      const all = await Promise.all(Array.from({ length: 10 }, () => barge(door.port, localAddress)))
      for (const socket of all) socket.resetAndDestroy()
      await setImmediate()
    }
  }
  // Half-open all the time: they take what their block may have.
  const idle = await Promise.all(Array.from({ length: 30 }, (_, n) => barge(door.port, `127.0.66.${n + 1}`)))
  const hostile = [
    ...Object.keys(attacks).flatMap((name, index) => [
      attack(name, `127.0.0.${index + 1}`),
      attack(name, '127.0.7.7'),
    ]),
    storm('127.0.0.99'),
    storm('127.0.8.8'),
  ]

  const mails = 15
  const { turns } = await turnsDuring(async () => {
    for (let number = 0; number < mails; number++) {
      const dialog = await greetedDialog(door.port, '127.0.99.1')
      await dialog.envelope('bob@example.net', 'ann@ours.example')
      const { text } = await dialog.data(`From: bob@example.net\r\nSubject: good ${number}\r\n\r\nx`)
      if (!text.startsWith('250 ')) t.fail(text)
      await dialog.say('QUIT')
    }
    await until('every attack to have come several times', () =>
      Object.keys(attacks).every(name => (sessions[name] ?? 0) > 3),
    )
  }).finally(async () => {
    isDone.now = true
    await Promise.all(hostile)
    for (const socket of idle) socket.destroy()
  })

  const good = (await door.messages()).filter(({ subject }) => subject?.startsWith('good'))
  t.strictSame(
    good.map(({ subject }) => subject),
    Array.from({ length: mails }, (_, number) => `good ${number}`),
    'all of its mails, each once',
  )
  t.notOk((await door.messages()).some(({ subject }) => subject === 'nul' || subject === 'endless'))
  // No attack has the event loop for more than 100 of its lines.
  t.ok(turns > ((sessions.floods ?? 0) * linesOfAFlood) / 100 / 2, `${turns} turns`)
  t.strictSame(
    door.log.filter(({ level }) => level === 'error'),
    [],
    'and none of it is a fault of ours',
  )
  await until('all sessions over', () => {
    const count = (what: string) => door.log.filter(({ msg }) => msg === what).length
    return count('session began') === count('session ended')
  })
})
