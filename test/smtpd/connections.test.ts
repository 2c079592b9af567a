import { readdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../lib/base/time.ts'
import { createThrottles } from '../../lib/core/account/throttles.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { blobInDatabaseBytes } from '../../lib/core/mailbox/raws.ts'
import { createSubmissionDoor } from '../../lib/core/submission/door.ts'
import { smtpQuietBytes } from '../../lib/smtpd/data.ts'
import { smtpLongMs, smtpQuietMs, smtpSlowBytes, smtpSlowMs, smtpWordsMs } from '../../lib/smtpd/give-way.ts'
import { smtpRoomMs } from '../../lib/smtpd/server.ts'
import { createSessions } from '../../lib/smtpd/sessions.ts'
import { openCertificates } from '../../lib/tls/certificates.ts'
import { startDns } from '../support/dns.ts'
import { greetedDialog, openDialog, type SmtpDialog, type SmtpReply } from '../support/smtp-dialog.ts'
import { openDoor, type TestDoor, type TestDoorSettings } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

const errorsOf = (door: TestDoor) =>
  door.log.filter(entry => entry.level === 'error' || entry.level === 'warn')
const spoolOf = (door: TestDoor) => readdirSync(join(door.dataDir, 'spool'))

/** What gives the next reply once it is there. */
function markWhenReplied(dialog: SmtpDialog): () => SmtpReply | undefined {
  let reply: SmtpReply | undefined
  dialog.reply().then(
    said => {
      reply = said
    },
    () => {},
  )
  return () => reply
}

/** A large message that goes into a spool file, without its end. */
const large = `Subject: large\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}`

t.test('too many connections from one address, and in all', async t => {
  const { port } = await openDoor(t, { smtp: 'max_connections = 5\nmax_connections_per_address = 3' })
  const ours = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
  const fourth = await openDialog(port)
  t.match((await fourth.reply()).text, /^421 4\.7\.0 /)
  t.equal(await fourth.closed(), '')
  const others = [await greetedDialog(port, '127.0.0.2'), await greetedDialog(port, '127.0.0.3')]
  const sixth = await openDialog(port, '127.0.0.4')
  t.match((await sixth.reply()).text, /^421 /)
  t.equal(await sixth.closed(), '')
  await ours[0]!.say('QUIT')
  await ours[0]!.closed()
  others[0]!.vanish()
  await until('room for one more', async () => {
    const dialog = await openDialog(port)
    return (await dialog.reply()).code === 220
  })
  t.equal((await ours[1]!.say('NOOP')).code, 250, 'the others were not touched')
})

t.test('when all places are taken, strangers who bring nothing give theirs up', async t => {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
  const smtp = 'max_connections = 6\ntrusted_networks = ["127.0.0.9/32"]'
  const { port, inbox, dataDir } = await openDoor(t, { smtp, clock })
  await inbox('ann')
  const silent = await greetedDialog(port, '127.0.0.2')
  const talking = await greetedDialog(port, '127.0.0.3')
  const trusted = await greetedDialog(port, '127.0.0.9')
  const bringing = await greetedDialog(port, '127.0.0.4')
  const dripping = await greetedDialog(port, '127.0.0.6')
  const sending = await greetedDialog(port, '127.0.0.7')
  const line = `${'x'.repeat(998)}\r\n`
  for (const dialog of [dripping, sending]) await dialog.envelope('bob@example.net', 'ann@ours.example')
  const turnedAway = async () => {
    const dialog = await openDialog(port, '127.0.0.5')
    const { code } = await dialog.reply()
    await dialog.closed()
    return code
  }
  t.equal(await turnedAway(), 421)
  t.equal((await silent.say('NOOP')).code, 250, 'they are new')
  aheadMs += smtpQuietMs
  t.equal((await talking.say('NOOP')).code, 250)
  await bringing.envelope('bob@example.net', 'ann@ours.example')
  dripping.write(line)
  sending.write(`Subject: s\r\n\r\n${line.repeat(blobInDatabaseBytes / 1000 + 1)}`)
  await until('most of it read', () => readdirSync(join(dataDir, 'spool')).length > 0)
  t.equal(await turnedAway(), 421, 'there is room for who comes next')
  for (const dialog of [silent, talking, dripping]) {
    t.match((await dialog.reply()).text, /^421 4\.3\.2 All connections are taken/)
    await dialog.closed()
  }
  const next = await until('a place', async () => {
    const dialog = await openDialog(port, '127.0.0.5')
    return (await dialog.reply()).code === 220 && dialog
  })
  t.equal((await next.say('NOOP')).code, 250)
  t.equal((await trusted.say('NOOP')).code, 250)
  t.equal((await bringing.data('Subject: s\r\n\r\nhello')).code, 250)
  t.equal((await sending.say('.')).code, 250)
})

/** A door with a clock that the test puts forward, and an inbox. */
async function openTimedDoor(t: Test, settings: TestDoorSettings) {
  let aheadMs = 0
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs }
  const door = await openDoor(t, { ...settings, clock })
  await door.inbox('ann')
  const open = async (address: string) => {
    const dialog = await openDialog(door.port, address)
    return { dialog, code: (await dialog.reply()).code }
  }
  return {
    ...door,
    put: (ms: number) => {
      aheadMs += ms
    },
    /** Somebody who comes is turned away, and those who can be sent away are. */
    async comes(address: string) {
      const { dialog, code } = await open(address)
      t.equal(code, 421, 'all places are taken')
      await dialog.closed()
    },
    /** A place for him, and his mail is taken. */
    async brings(address: string) {
      const dialog = await until('a place', async () => {
        aheadMs += smtpRoomMs
        const { dialog, code } = await open(address)
        return code === 220 && dialog
      })
      await dialog.say('EHLO newcomer.example')
      await dialog.envelope('new@example.net', 'ann@ours.example')
      t.equal((await dialog.data('Subject: new\r\n\r\nhello')).code, 250)
      const { size } = door.door
      await dialog.say('QUIT')
      await until('its place free', () => door.door.size < size)
    },
  }
}

const sentAway = /^421 4\.3\.2 All connections are taken/

t.test('who had a message taken gives his place up before others, one after another', async t => {
  const { port, brings } = await openTimedDoor(t, { smtp: 'max_connections = 3' })
  const busy = await greetedDialog(port, '127.0.0.2')
  const dialogs = [await greetedDialog(port, '127.0.0.3'), await greetedDialog(port, '127.0.0.4')]
  for (const dialog of dialogs) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data('Subject: s\r\n\r\nhello')).code, 250)
  }
  await brings('127.0.0.5')
  t.match((await dialogs[0]!.reply()).text, sentAway)
  await dialogs[0]!.closed()
  for (const dialog of [dialogs[1]!, busy]) t.equal((await dialog.say('NOOP')).code, 250, 'one was enough')
})

t.test(
  'who comes in crowds, brings slowly or stays for long gives his place up, and no mail that is judged does',
  async t => {
    const dns = await startDns({})
    t.teardown(() => dns.close())
    const smtp = 'max_connections = 5\ntrusted_networks = ["127.0.9.0/24"]'
    const { port, brings, comes, put, hasRead } = await openTimedDoor(t, { smtp, dns: dns.server })
    const trusted = await greetedDialog(port, '127.0.9.1')
    dns.fail('slow.example', 'timeout')
    const judged = await greetedDialog(port, '127.0.1.1')
    await judged.envelope('bob@slow.example', 'ann@ours.example')
    judged.write('From: bob@slow.example\r\nSubject: judged\r\n\r\nhello\r\n.\r\n')
    await until('it is judged', () => dns.queries.some(({ name }) => name === 'slow.example'))
    const dripping = await greetedDialog(port, '127.0.2.1')
    await dripping.envelope('bob@example.net', 'ann@ours.example')
    const [one, other] = [await greetedDialog(port, '127.0.3.1'), await greetedDialog(port, '127.0.3.2')]
    const busy = async (...dialogs: SmtpDialog[]) => {
      for (const dialog of dialogs) {
        await dialog.say('RSET')
        t.equal((await dialog.say('MAIL FROM:<bob@example.net>')).code, 250)
      }
    }
    const wentAway = async (dialog: SmtpDialog, why: string) => {
      t.match((await dialog.reply()).text, sentAway, why)
      await dialog.closed()
    }

    await comes('127.0.4.1')
    await wentAway(one, 'one of two of one block')
    await brings('127.0.4.1')
    const third = await greetedDialog(port, '127.0.5.1')

    put(smtpSlowMs)
    await busy(other, third)
    dripping.write(`${'x'.repeat(998)}\r\n`.repeat(smtpQuietBytes / 1000 + 1))
    await hasRead(dripping)
    await comes('127.0.4.1')
    await wentAway(dripping, 'what it brought would take an hour')
    await brings('127.0.4.1')
    const fourth = await greetedDialog(port, '127.0.6.1')

    put(smtpWordsMs)
    await busy(other, third, fourth)
    await comes('127.0.4.1')
    for (const dialog of [other, third, fourth]) await wentAway(dialog, 'commands, and no message')
    await brings('127.0.4.1')

    const endless = await greetedDialog(port, '127.0.7.1')
    await endless.envelope('bob@example.net', 'ann@ours.example')
    put(smtpLongMs)
    endless.write(`${'x'.repeat(998)}\r\n`.repeat((smtpSlowBytes * smtpLongMs) / 1_000_000 + 1000))
    await hasRead(endless)
    for (const address of ['127.0.8.1', '127.0.10.1']) await greetedDialog(port, address)
    await comes('127.0.4.1')
    await wentAway(endless, 'a message that comes fast, and never ends')
    t.equal((await trusted.say('NOOP')).code, 250)
    dns.clear('slow.example')
    t.equal((await judged.reply()).code, 250, 'what waits for us is not sent away')
  },
)

t.test('whose message ended since he was found keeps his place until its reply', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { app, inbox, messages, dataDir } = await openDoor(t, { dns: dns.server })
  await inbox('ann')
  const { clock, log, config } = app
  const { hostname } = config
  const certificates = await openCertificates({ pairs: [], issued: undefined, dataDir, hostname, clock, log })
  const sessions = createSessions({
    receiver: createReceiver(app),
    submission: createSubmissionDoor(app, createThrottles(app)),
    certificates: certificates.current,
    idleTimeoutMs: 60_000,
    sessionTimeoutMs: 60_000,
    dataTimeoutMs: 60_000,
    maxMessages: 9,
    rates: { takeMessage() {}, takeBytes() {} },
    ended() {},
  })
  // Here the test says who was found, and when it is told to his session: in between his message may come to its end.
  const names = ['judged', 'waiting']
  const listener = createServer({ pauseOnConnect: true }, socket =>
    sessions.take(
      {
        id: names.shift()!,
        door: 'smtp',
        remoteAddress: '127.0.0.1',
        remotePort: socket.remotePort!,
        localAddress: '127.0.0.1',
        localPort: socket.localPort!,
        isTrusted: false,
      },
      socket,
    ),
  )
  await new Promise<void>(resolve => listener.listen(0, '127.0.0.1', resolve))
  const { port } = listener.address() as AddressInfo
  t.teardown(async () => {
    listener.close()
    await sessions.stop()
    await certificates.stop()
  })
  const judged = await greetedDialog(port)
  const waiting = await greetedDialog(port)
  dns.fail('slow.example', 'timeout')
  await judged.envelope('bob@slow.example', 'ann@ours.example')
  judged.write('From: bob@slow.example\r\nSubject: judged\r\n\r\nhello\r\n.\r\n')
  await until('it is judged', () => dns.queries.some(({ name }) => name === 'slow.example'))
  sessions.sendAway(['gone', 'judged', 'waiting'])
  t.match((await waiting.reply()).text, sentAway)
  await waiting.closed()
  dns.clear('slow.example')
  t.match((await judged.reply()).text, /^250 2\./)
  t.equal((await messages()).length, 1)
  sessions.sendAway(['judged'])
  t.match((await judged.reply()).text, sentAway)
  await judged.closed()
})

t.test('who says nothing is sent away, and who speaks is not', async t => {
  const { port } = await openDoor(t, { idleTimeoutMs: 1000 })
  const speaking = await greetedDialog(port)
  const idle = await openDialog(port)
  await idle.reply()
  const dismissed = markWhenReplied(idle)
  const codes = new Set<number>()
  await until('the idle one sent away, which is the younger', async () => {
    codes.add((await speaking.say('NOOP')).code)
    return dismissed()
  })
  t.match(dismissed()?.text, /^421 4\.4\.2 /)
  t.strictSame([...codes], [250])
  await idle.closed()
  const inData = await greetedDialog(port)
  await inData.say('MAIL FROM:<bob@example.net>')
  await inData.say('RCPT TO:<postmaster>')
  await inData.say('DATA')
  inData.write('Subject: x\r\n')
  t.match((await inData.reply()).text, /^421 4\.4\.2 /, 'in DATA too')
  await inData.closed()
})

t.test('a session has its whole time and no more, however lively', async t => {
  const door = await openDoor(t, { sessionTimeoutMs: 1000 })
  const lively = await greetedDialog(door.port)
  const last = await until('the end of the session', async () => {
    const said = await lively.say('NOOP')
    return said.code !== 250 && said
  })
  t.match(last.text, /^421 4\.4\.2 /)
  await lively.closed()

  // Its end comes in the middle of a message: the message gets its reply first.
  const dialog = await greetedDialog(door.port)
  await dialog.envelope('bob@example.net', 'postmaster')
  dialog.write('Subject: late\r\n')
  // When one that began later is at its end, so is the other.
  const later = await greetedDialog(door.port)
  t.match((await later.reply()).text, /^421 4\.4\.2 /)
  t.match((await dialog.data('\r\nx')).text, /^250 2\./)
  t.match((await dialog.reply()).text, /^421 4\.4\.2 /)
  await dialog.closed()
  t.equal((await door.messages()).length, 1)
  t.strictSame(errorsOf(door), [])
})

t.test('the bytes of a message have a deadline', async t => {
  const door = await openDoor(t, { dataTimeoutMs: 300 })
  const dialogs: SmtpDialog[] = []
  for (const start of ['Subject: x\r\n', large]) {
    const dialog = await greetedDialog(door.port)
    await dialog.envelope('bob@example.net', 'postmaster')
    dialog.write(start)
    dialogs.push(dialog)
  }
  const drip = setInterval(() => {
    for (const dialog of dialogs) dialog.write('x')
  }, 20)
  t.teardown(() => clearInterval(drip))
  for (const dialog of dialogs) {
    t.match((await dialog.reply()).text, /^421 4\.4\.2 The message took too long/)
  }
  clearInterval(drip)
  for (const dialog of dialogs) await dialog.closed().catch(() => {})
  await until('no spool file', () => spoolOf(door).length === 0)
  t.strictSame(await door.messages(), [])
  t.strictSame(errorsOf(door), [])
})

t.test('a slow client is waited for', async t => {
  const { port, messages } = await openDoor(t, { idleTimeoutMs: 1000 })
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'postmaster')
  const idle = markWhenReplied(await greetedDialog(port))
  const bytes = 'Subject: slow\r\n\r\n'[Symbol.iterator]()
  await until('one that says nothing sent away', () => {
    dialog.write(bytes.next().value ?? 'x')
    return idle()
  })
  t.match(idle()?.text, /^421 4\.4\.2 /)
  t.equal((await dialog.data('')).code, 250)
  t.equal((await messages())[0]!.subject, 'slow')
})

t.test('a client that vanishes leaves nothing, at whatever stage', async t => {
  const door = await openDoor(t, { smtp: 'max_connections_per_address = 3' })
  const inData = async (dialog: SmtpDialog, bytes: string) => {
    await dialog.reply()
    await dialog.say('EHLO client.example')
    await dialog.envelope('bob@example.net', 'postmaster')
    dialog.write(bytes)
    await door.hasRead(dialog)
  }
  const stages: [name: string, step: (dialog: SmtpDialog) => unknown][] = [
    ['before the greeting', () => {}],
    ['after the greeting', dialog => dialog.reply()],
    ['in a command', dialog => dialog.write('EHLO cli')],
    ['after EHLO', async dialog => [await dialog.reply(), await dialog.say('EHLO client.example')]],
    ['in STARTTLS', async dialog => [await dialog.reply(), await dialog.say('STARTTLS')]],
    ['before DATA is content', dialog => inData(dialog, '')],
    ['in the header', dialog => inData(dialog, 'Subject: x\r\nFro')],
    ['in the body', dialog => inData(dialog, 'Subject: x\r\n\r\nab')],
    ['in a large body', dialog => inData(dialog, large)],
    ['before the last line end', dialog => inData(dialog, 'Subject: x\r\n\r\nab\r\n.')],
    ['in the last line end', dialog => inData(dialog, 'Subject: x\r\n\r\nab\r\n.\r')],
    ['in the last line end of a large one', dialog => inData(dialog, `${large}\r\n.\r`)],
  ]
  for (const [name, step] of stages) {
    for (const how of ['vanish', 'end'] as const) {
      const dialog = await openDialog(door.port)
      await step(dialog)
      dialog[how]()
      if (how === 'end') await dialog.closed().catch(() => {})
      dialog.vanish()
      const sessions = (what: string) => door.log.filter(entry => entry.msg === what).length
      await until(
        `${name}, ${how}: the session over`,
        () => sessions('session began') === sessions('session ended'),
      )
      t.strictSame(await door.messages(), [], `${name}, ${how}`)
      await until(`${name}, ${how}: no spool file`, () => spoolOf(door).length === 0)
    }
  }
  t.strictSame(errorsOf(door), [], 'and none of it is an error of ours')
  t.strictSame(await door.app.store.read.selectFrom('raw').select('id').execute(), [])
})

t.test('a client that vanishes after the final dot has sent its message', async t => {
  const door = await openDoor(t)
  for (const [index, content] of ['Subject: small\r\n\r\nx', large].entries()) {
    const dialog = await greetedDialog(door.port)
    await dialog.envelope('bob@example.net', 'postmaster')
    dialog.write(`${content}\r\n.\r\n`)
    // Not an answer is read.
    await until('the message stored', async () => (await door.messages()).length > index)
    dialog.vanish()
    const ended = () => door.log.filter(entry => entry.msg === 'session ended').length
    await until('the session over', () => ended() > index)
  }
  t.strictSame(errorsOf(door), [])
  t.strictSame(spoolOf(door), [])
})

t.test('the door stops: idle sessions get 421, a message under way gets its 250 first', async t => {
  const door = await openDoor(t)
  const greeted = await openDialog(door.port)
  await greeted.reply()
  const inTransaction = await greetedDialog(door.port)
  await inTransaction.say('MAIL FROM:<bob@example.net>')
  const inData = await greetedDialog(door.port)
  await inData.envelope('bob@example.net', 'postmaster')
  inData.write('Subject: the last\r\n')
  // The time after which it would wait for nobody never comes: it stops because all have gone.
  mock.timers.enable({ apis: ['setTimeout'] })
  const stopped = door.door.stop()
  mock.timers.reset()
  for (const dialog of [greeted, inTransaction]) {
    t.match((await dialog.reply()).text, /^421 4\.3\.2 /)
    t.equal(await dialog.closed(), '')
  }
  await t.rejects(openDialog(door.port), { code: 'ECONNREFUSED' })
  t.match((await inData.data('\r\nx')).text, /^250 2\./)
  t.match((await inData.reply()).text, /^421 4\.3\.2 /)
  t.equal(await inData.closed(), '')
  await stopped
  t.equal((await door.messages())[0]!.subject, 'the last')
})
