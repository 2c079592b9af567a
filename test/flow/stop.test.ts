import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { SMTPServer } from 'smtp-server'
import t from 'tap'
import { paceFirst } from '../../lib/carrying.ts'
import { listQueuedDeliveries } from '../../lib/store/queued-deliveries.ts'
import { apiOf } from '../support/api.ts'
import { settledContradictions } from '../support/consistency.ts'
import { childrenOf } from '../support/contained.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** How many attempts at once a destination gets of which nothing is known. */
const limitOfADestination = paceFirst

t.test('SIGTERM: idle sessions get 421, a message under way its 250, and it is there after', async t => {
  const daemon = await startDaemon(t)
  const ann = await createInbox(daemon, 'ann')
  const idle = await greetedDialog(daemon.smtpPort)
  const ungreeted = await openDialog(daemon.smtpPort)
  await ungreeted.reply()
  const small = await greetedDialog(daemon.smtpPort)
  const large = await greetedDialog(daemon.smtpPort)
  const block = `${'x'.repeat(998)}\r\n`.repeat(400)
  for (const [name, dialog] of [
    ['small', small],
    ['large', large],
  ] as const) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    dialog.write(`Message-ID: <${name}@client.example>\r\nSubject: ${name}\r\n\r\n`)
  }
  large.write(block)

  t.strictSame(childrenOf(daemon.process.pid!), [], 'it starts no process that could live on')
  const ended = daemon.end('SIGTERM')
  for (const dialog of [idle, ungreeted]) {
    t.match((await dialog.reply()).text, /^421 4\.3\.2 /)
    t.equal(await dialog.closed(), '')
  }
  await t.rejects(openDialog(daemon.smtpPort), { code: 'ECONNREFUSED' })
  await t.rejects(fetch(daemon.baseUrl))
  for (const dialog of [small, large]) {
    t.match((await dialog.data(`${block}end`)).text, /^250 2\./)
    t.match((await dialog.reply()).text, /^421 4\.3\.2 /)
  }
  t.equal(await ended, 0)
  t.strictSame(daemon.troubles(), [])
  t.strictSame(readdirSync(join(daemon.dataDir, 'spool')), [])
  const left = readdirSync(daemon.dataDir).filter(name => /-(wal|shm|journal)$/.test(name))
  t.strictSame(left, [], 'the database is closed')

  const again = await daemon.restart()
  const api = apiOf(again.baseUrl, ann.token)
  const { data } = (await api.get(`/v1/inboxes/${ann.id}/messages`)).body as {
    data: { id: string; subject: string }[]
  }
  t.strictSame(data.map(message => message.subject).sort(), ['large', 'small'])
  // A list may cut what is long.
  for (const { id } of data) t.match((await api.get(`/v1/messages/${id}`)).body, { bodyText: /end\s*$/ })
})

t.test(
  'SIGTERM: a peer that never ends its message is waited for no longer than the server has to stop',
  async t => {
    const daemon = await startDaemon(t)
    const dialog = await greetedDialog(daemon.smtpPort)
    await dialog.envelope('bob@example.net', 'postmaster')
    dialog.write('Subject: x\r\n')
    t.equal(await daemon.end('SIGTERM'), 0)
    // It says so when its time to stop is over and it ends without having come to its end.
    t.notOk(daemon.log().some(entry => entry.msg === 'stopping took too long; exiting'))
    t.match((await dialog.reply()).text, /^421 4\./)
  },
)

t.test('SIGTERM: beside stalled clients, what was carried is written down and not sent twice', async t => {
  const taken: (() => void)[] = []
  const sink = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    onData(stream, _session, callback) {
      stream.resume().on('end', () => taken.push(callback))
    },
  })
  sink.on('error', () => {})
  sink.listen(0, '127.0.0.3')
  await once(sink.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => sink.close(() => resolve())))
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 10, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.3'] },
  })
  t.teardown(() => dns.close())
  const mxPort = (sink.server.address() as AddressInfo).port
  const daemon = await startDaemon(t, { dns: dns.server, mxPort })
  const ann = await createInbox(daemon, 'ann')
  await ann.api.send(ann.id, { to: 'bob@theirs.example', subject: 'once', body: 'x' })
  await until('the mail with the other server, unanswered', () => taken.length === 1)
  const stalled = await greetedDialog(daemon.smtpPort)
  await stalled.envelope('bob@example.net', 'postmaster')
  stalled.write('Subject: x\r\n')
  const { hostname, port } = new URL(daemon.baseUrl)
  const request = connect(Number(port), hostname)
  t.teardown(() => request.destroy())
  request.on('error', () => {})
  request.write('POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{')
  const ended = daemon.end('SIGTERM')
  await until('the stop', () => daemon.log().some(entry => entry.msg === 'stopping'))
  taken[0]!()
  t.equal(await ended, 0)
  const said = daemon.log().map(entry => entry.msg)
  t.notOk(said.includes('stopping took too long; exiting'))
  t.ok(said.includes('stopped'))
  const again = await daemon.restart()
  t.strictSame(await again.withRows(({ store }) => listQueuedDeliveries(store.read, {}, 100, 0)), [])
  t.equal(taken.length, 1)
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})

t.test('SIGTERM: nothing new begins, and who is silent is left: clients before what is carried', async t => {
  const order: string[] = []
  const taken: (() => void)[] = []
  const silent = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS', 'AUTH'],
    disableReverseLookup: true,
    logger: false,
    // A courier would wait for its answer for ten minutes.
    onData: (stream, _session, callback) => void stream.resume().on('end', () => taken.push(callback)),
    onClose: () => void order.push('a silent server'),
  })
  silent.on('error', () => {})
  silent.listen(0, '127.0.0.3')
  await once(silent.server, 'listening')
  t.teardown(() => new Promise<void>(resolve => silent.close(() => resolve())))
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 10, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.3'] },
  })
  t.teardown(() => dns.close())
  const daemon = await startDaemon(t, {
    dns: dns.server,
    mxPort: (silent.server.address() as AddressInfo).port,
  })
  const ann = await createInbox(daemon, 'ann')
  const sent = limitOfADestination + 3
  for (let count = 0; count < sent; count++)
    await ann.api.send(ann.id, { to: `bob${count}@theirs.example`, subject: 'x', body: 'x' })
  await until('as many with the other server as may be', () => taken.length === limitOfADestination)

  const closes = (name: string, said: Promise<unknown>) => void said.then(() => order.push(name))
  const idle = await greetedDialog(daemon.smtpPort)
  closes('an idle client', idle.closed())
  const stalled = await greetedDialog(daemon.smtpPort)
  await stalled.envelope('bob@example.net', 'postmaster')
  stalled.write('Subject: x\r\n')
  closes('a stalled client', stalled.closed())
  const { hostname, port } = new URL(daemon.baseUrl)
  for (const [name, request] of [
    ['an idle connection', 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['a stalled request', 'POST /v1/inboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{'],
  ] as const) {
    const socket = connect(Number(port), hostname)
    t.teardown(() => socket.destroy())
    socket.on('error', () => {})
    closes(name, once(socket, 'close'))
    socket.write(request)
    if (name.includes('idle')) await once(socket, 'data')
    else socket.resume()
  }

  const ended = daemon.end('SIGTERM').then(code => {
    order.push('exit')
    return code
  })
  await until('the stop', () => daemon.log().some(entry => entry.msg === 'stopping'))
  taken[0]!()
  t.equal(await ended, 0)
  t.notOk(daemon.log().some(entry => entry.msg === 'stopping took too long; exiting'))
  await until('all to have seen their end', () => order.length === 5 + limitOfADestination)
  t.equal(taken.length, limitOfADestination, 'in the place of the one that was answered none has begun')
  const before = (one: string, other: string) =>
    t.ok(order.indexOf(one) < order.indexOf(other), `${one} before ${other}: ${order.join(', ')}`)
  for (const one of ['an idle client', 'an idle connection'])
    for (const other of ['a stalled client', 'a stalled request']) before(one, other)
  // The doors do not wait for the runners, nor for each other.
  for (const one of ['a stalled client', 'a stalled request']) {
    const left = order.slice(0, order.indexOf(one)).filter(other => other === 'a silent server').length
    t.ok(left <= 1, `only the session with an answer may have ended before ${one}: ${order.join(', ')}`)
  }

  const again = await daemon.restart()
  const queued = await again.withRows(({ store }) => listQueuedDeliveries(store.read, {}, 100, 0))
  t.equal(queued.length, sent - 1, 'what was answered is done, and nothing else')
})
