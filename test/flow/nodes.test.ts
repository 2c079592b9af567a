import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startBucket } from '../support/bucket.ts'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox } from '../support/mailbox.ts'
import { newNodeDir, startNodes } from '../support/nodes.ts'
import { without } from '../support/peers.ts'
import { migratedDatabase } from '../support/postgres.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openSocket } from '../support/socket-client.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { startTheirServer } from '../support/their-server.ts'
import { until } from '../support/until.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

const skip = without('postgres')

async function bring(daemon: TestDaemon, to: string, subject: string, line = 'hello'): Promise<number> {
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', to)
  const { code } = await dialog.data(
    `From: bob@example.net\r\nMessage-ID: <${subject}@example.net>\r\nSubject: ${subject}\r\n\r\n${`${line}\r\n`.repeat(line === 'hello' ? 1 : 8_000)}`,
  )
  dialog.end()
  return code
}

/** Brings a message as mail servers do: what a busy machine defers (451) comes again. */
async function bringAgain(daemon: TestDaemon, to: string, subject: string): Promise<void> {
  await until(`${subject} is accepted`, async () => {
    const code = await bring(daemon, to, subject).catch((error: Error) => {
      if (!error.message.includes('answered 451')) throw error
      return 451
    })
    return code === 250
  })
}

/** Until a node is taken for gone, on a busy machine. */
const goneMs = 90_000

const count = (all: readonly string[], one: string) => all.filter(name => name === one).length

t.test('two nodes: what one takes in is known at the other', { skip }, async t => {
  const server = await startTheirServer(t)
  const receiver = await startWebhookReceiver(t)
  const webhook = '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]\n'
  const events = '[events]\nprefer_websocket = true\n'
  const plan = '[plan_free]\ninboxes = 13\ncold_recipients_at_first = 0\ncold_recipients = 0\n'
  const toml = `${plan}${webhook}${events}`
  const nodes = await startNodes(t, 2, { ...server, toml }, 'plan = "free"\n')
  const [a, b] = nodes as [TestDaemon, TestDaemon]
  const ann = await createInbox(a, 'ann')
  const { token } = await a.createKey()
  const [atA, atB] = [apiOf(a.baseUrl, token), apiOf(b.baseUrl, token)]
  const bea = (await atA.post('/v1/inboxes', { webhookUrl: receiver.url })).body

  await t.test('it is waited for, streamed and read there', async t => {
    const socket = await openSocket(t, b.baseUrl, token)
    await socket.ask({ type: 'subscribe' })
    const waited = atB.get(`/v1/inboxes/${ann.id}/messages/wait?timeout=60`)
    await until('who waits', async () => (await atB.get(`/v1/inboxes/${ann.id}`)).status === 200)
    t.equal(await bring(a, ann.address, 'one'), 250)
    t.match((await waited).body.data, [{ subject: 'one' }])
    await socket.told(1)
    t.match(socket.events[0], { event: 'message.received' })
    t.equal((await atB.get(`/v1/inboxes/${ann.id}/messages`)).body.total, 1)
    t.equal(await bring(b, ann.address, 'two'), 250)
    t.equal((await ann.received(2)).length, 2)
  })

  await t.test(
    'mail to one inbox at both at once: all of it is taken, and each event is told once',
    async t => {
      const socket = await openSocket(t, b.baseUrl, token)
      await socket.ask({ type: 'subscribe', inbox_ids: [bea.id], event_types: ['message.received'] })
      const names = Array.from({ length: 40 }, (_, n) => `both${n}`)
      await Promise.all(names.map((name, n) => bringAgain(n % 2 ? a : b, bea.address, name)))
      t.equal((await atA.get(`/v1/inboxes/${bea.id}/messages`)).body.total, names.length)
      await socket.told(names.length)
      const told = socket.events.map(({ message }) => message.subject)
      t.strictSame(told.sort(), names.sort())
      const ids = socket.events.map(one => one.event_id)
      t.strictSame(ids, ids.toSorted(), 'in the order of the stream')
    },
  )

  await t.test('a key that is revoked at one is refused at the other, and its streams end', async t => {
    const { id, token: other } = await a.createKey()
    const socket = await openSocket(t, b.baseUrl, other)
    t.equal((await apiOf(b.baseUrl, other).get('/v1/inboxes')).status, 200)
    await a.ctl('key', 'revoke', id, '--yes')
    t.equal((await apiOf(b.baseUrl, other).get('/v1/inboxes')).status, 401)
    t.match(await socket.closed, { code: 4001 })
  })

  await t.test('one Idempotency-Key at both at once sends once', async t => {
    const keys = Array.from({ length: 10 }, () => randomUUID())
    const send = (api: typeof atA, key: string, subject: string) =>
      api.send(ann.id, { to: `x@theirs${1 + (subject.length % 4)}.example`, subject, body: 'b' }, key)
    for (const [n, key] of keys.entries()) {
      const answers = await Promise.all([atA, atB, atA, atB].map(api => send(api, key, `same${n}`)))
      t.strictSame(
        answers.map(({ status }) => status),
        [200, 200, 200, 200],
      )
      t.equal(new Set(answers.map(({ body }) => body.messageId)).size, 1)
    }
    await until('all of them there', () => keys.every((_, n) => server.taken.includes(`same${n}`)))
    for (const n of keys.keys()) t.equal(count(server.taken, `same${n}`), 1)
  })

  await t.test('the last place of a limit is had once', async t => {
    const made = await Promise.all(
      Array.from({ length: 24 }, (_, n) => (n % 2 ? atA : atB).post('/v1/inboxes', {})),
    )
    const has = (status: number) => made.filter(answer => answer.status === status).length
    t.equal(has(201), 11, JSON.stringify(made.map(({ status, body }) => [status, body])))
    t.equal(has(422), 13)
  })

  await t.test('mailboxctl lists them, and one drains', async t => {
    const { data } = (await a.ctl('node', 'list')) as { data: { id: string; state: string }[] }
    t.strictSame(
      data.map(({ state }) => state),
      ['up', 'up'],
    )
    const id = readFileSync(join(b.dataDir, 'node'), 'utf8').trim()
    await a.ctl('node', 'drain', id)
    await until('it to say so', async () => (await atB.get('/health')).status === 503)
    t.equal((await atA.get('/health')).status, 200)
    t.equal((await atB.send(ann.id, { to: 'x@theirs1.example', subject: 'drained', body: 'b' })).status, 200)
    await until('the other to carry it', () => server.taken.includes('drained'))
    t.ok(a.log().some(({ msg }) => msg === 'delivery attempted'))

    // The other calls the webhook, and knows who reads here.
    const stateAfter = async (subject: string) => {
      t.equal(await bring(a, bea.address, subject), 250)
      return until('what became of its webhook', async () => {
        const { data: events } = (await atA.get('/v1/events?type=message.received&newest=true&limit=20')).body
        const event = events.find(
          (one: { message?: { subject: string } }) => one.message?.subject === subject,
        )
        if (!event) return undefined
        const [delivery] = (await atA.get(`/v1/events/${event.event_id}/deliveries`)).body.data
        return delivery.state === 'queued' ? undefined : delivery.state
      })
    }
    t.equal(await stateAfter('unread'), 'delivered')
    const socket = await openSocket(t, b.baseUrl, token)
    await socket.ask({ type: 'subscribe', inbox_ids: [bea.id] })
    let n = 0
    await until('it to be known', async () => (await stateAfter(`read${n++}`)) === 'cancelled')
    await socket.told(n)
    socket.socket.close()
    await until('that to be known', async () => (await stateAfter(`left${n++}`)) === 'delivered')

    await a.ctl('node', 'resume', id)
    await until('it to go on', async () => (await atB.get('/health')).status === 200)
    t.match((await a.ctlResult('node', 'drain', 'none')).code, 1)
  })

  t.equal(await b.end('SIGTERM'), 0)
  const { data } = (await a.ctl('node', 'list')) as { data: { state: string }[] }
  t.strictSame(data.map(({ state }) => state).sort(), ['stopped', 'up'])
  t.strictSame(a.troubles(), [])
  t.strictSame(b.troubles(), [])
})

t.test('a node that can not be right beside the others does not start', { skip }, async t => {
  const [a] = (await startNodes(t, 1)) as [TestDaemon]
  const start = (dataDir: string, change = (text: string) => text) => {
    const config = join(temporaryDir(t), 'mailboxd.toml')
    writeFileSync(config, change(readFileSync(a.configPath, 'utf8').replace(a.dataDir, dataDir)))
    return runProgram(process.execPath, [builtProgram('mailboxd'), '--config', config])
  }
  const empty = join(temporaryDir(t), 'data')
  t.match(await start(empty), { code: 78, stderr: /secrets\.key is missing.*copy it from another node/ })
  const strange = newNodeDir(t, a)
  writeFileSync(join(strange, 'secrets.key'), `${'0'.repeat(64)}\n`)
  t.match(await start(strange), { code: 78, stderr: /not the key of this database.*from another node/ })
  const copied = newNodeDir(t, a)
  writeFileSync(join(copied, 'node'), readFileSync(join(a.dataDir, 'node')))
  t.match(await start(copied), { code: 1, stderr: /as the node \w+: its data_dir was copied/ })
  const nameless = newNodeDir(t, a)
  rmSync(join(nameless, 'bucket.owner'))
  t.match(await start(nameless), {
    code: 1,
    stderr:
      /copy the file bucket\.owner of its data_dir.*start this one again in a minute.*must not be copied/,
  })
  const laden = newNodeDir(t, a)
  const file = randomUUID()
  mkdirSync(join(laden, 'raw', file.slice(-2)), { recursive: true })
  writeFileSync(join(laden, 'raw', file.slice(-2), file), 'a message of before')
  t.match(await start(laden), {
    code: 1,
    stderr: /this node has large messages in its data_dir.*`mailboxctl migrate --blobs s3:\/\/mail\/large`/,
  })
  const onDisk = (text: string) => text.replace(/^blobs = .*$/m, '')
  t.match(await start(newNodeDir(t, a), onDisk), {
    code: 1,
    stderr:
      /has large messages in s3:\/\/mail\/large, this one would have them in its data_dir: several nodes need one bucket/,
  })
})

t.test(
  'no second node starts while the first has large messages of before on its disk',
  { skip },
  async t => {
    const bucket = await startBucket(t)
    const [top, table] = bucket.tomlParts
    const database = await newPostgresDatabase(migratedDatabase)
    // As settings of a bucket that is not used yet.
    const a = await startDaemon(t, { database, toml: `# blobs\n${table}` })
    const ann = await createInbox(a, 'ann')
    t.equal(await bring(a, ann.address, 'large', 'x'.repeat(70)), 250)
    const { token } = await a.createKey()
    await a.end('SIGTERM')
    writeFileSync(a.configPath, readFileSync(a.configPath, 'utf8').replace('# blobs\n', top))
    const again = await a.restart()
    const dataDir = newNodeDir(t, again)
    const config = join(temporaryDir(t), 'mailboxd.toml')
    writeFileSync(config, readFileSync(a.configPath, 'utf8').replace(a.dataDir, dataDir))
    const ctl = ['--config', a.configPath, 'migrate', '--blobs', 's3://mail/large']
    const refused = await runProgram(process.execPath, [builtProgram('mailboxd'), '--config', config])
    t.match(refused, {
      code: 1,
      stderr:
        /has large messages in its data_dir that are not in s3:\/\/mail\/large.*`mailboxctl migrate --blobs/,
    })
    await again.end('SIGTERM')
    t.match(await runProgram(process.execPath, [builtProgram('mailboxctl'), ...ctl]), { code: 0 })
    const moved = await again.restart()
    const b = await startDaemon(t, { database, toml: bucket.toml, dataDir })
    const [message] = (await apiOf(b.baseUrl, token).get(`/v1/inboxes/${ann.id}/messages`)).body.data
    for (const node of [moved, b]) {
      const raw = await fetch(`${node.baseUrl}/v1/messages/${message.id}/raw`, {
        headers: { authorization: `Bearer ${token}` },
      })
      t.equal(raw.status, 200)
      t.match(await raw.text(), /x{70}/)
    }
  },
)

t.test(
  'a node that is killed, and one that stands still: another takes over what they had',
  { skip },
  async t => {
    const server = await startTheirServer(t)
    const [a, b, c] = (await startNodes(t, 3, server)) as [TestDaemon, TestDaemon, TestDaemon]
    const ann = await createInbox(c, 'ann')
    const { token } = await c.createKey()
    const of = (daemon: TestDaemon) => apiOf(daemon.baseUrl, token)
    const holderOf = ({ dataDir }: TestDaemon) => readFileSync(join(dataDir, 'node'), 'utf8').trim()
    for (const one of [b, c]) await c.ctl('node', 'drain', holderOf(one))
    await until('two to drain', async () => {
      const answers = await Promise.all([b, c].map(one => of(one).get('/health')))
      return answers.every(({ status }) => status === 503)
    })
    // All that is sent is carried by the first, as far as the server lets it.
    server.hold(true)
    const ids = new Map<string, string>()
    const toldOf = (subject: string) =>
      [a, b, c].map(one =>
        one.log().filter(line => line.messageId === ids.get(subject) || line.level !== 'info'),
      )
    const subjects = Array.from({ length: 6 }, (_, n) => `held${n}`)
    for (const [n, subject] of subjects.entries()) {
      const sent = await of(c).send(ann.id, { to: `x@theirs${1 + (n % 4)}.example`, subject, body: 'b' })
      t.equal(sent.status, 200)
      ids.set(subject, sent.body.messageId)
    }
    await until('some at the server', () => server.waiting.length > 0)
    // At the final dot none of them is, where nobody could know whether the server has it.
    a.process.kill('SIGSTOP')
    server.hold(false)
    for (const one of [b, c]) await c.ctl('node', 'resume', holderOf(one))
    await until('the others to carry them', () => subjects.every(one => server.taken.includes(one)), goneMs)
    // The server answers those who stood still, and they could end what the others have done by now.
    a.process.kill('SIGCONT')
    for (const answer of server.waiting) answer()
    await until('it to begin anew', () => a.log().some(({ msg }) => /begins anew/.test(String(msg))))
    await until('what it had to be given up', () => {
      return a.log().some(({ msg }) => /lease lost/.test(String(msg)))
    })
    t.equal((await of(a).send(ann.id, { to: 'x@theirs1.example', subject: 'after', body: 'b' })).status, 200)
    await until('one more', () => server.taken.includes('after'))
    for (const subject of [...subjects, 'after'])
      t.equal(count(server.taken, subject), 1, `${subject} ${JSON.stringify(toldOf(subject))}`)

    await t.test('killed in the middle', async t => {
      server.waiting.splice(0)
      server.hold(true)
      const more = Array.from({ length: 12 }, (_, n) => `more${n}`)
      for (const [n, subject] of more.entries()) {
        const to = `x@theirs${1 + (n % 4)}.example`
        t.equal((await of([a, b, c][n % 3]!).send(ann.id, { to, subject, body: 'b' })).status, 200)
      }
      await until('some at the server', () => server.waiting.length > 0)
      t.equal(await a.end('SIGKILL'), 'SIGKILL')
      t.equal(await b.end('SIGKILL'), 'SIGKILL')
      server.hold(false)
      for (const answer of server.waiting) answer()
      await until('all of them there', () => more.every(one => server.taken.includes(one)), goneMs)
      for (const subject of more) t.equal(count(server.taken, subject), 1, subject)
      const { data } = (await c.ctl('node', 'list')) as { data: { state: string }[] }
      t.strictSame(data.map(({ state }) => state).sort(), ['gone', 'gone', 'up'])
    })
    const back = await a.restart()
    t.equal(await bring(back, ann.address, 'again'), 250)
    t.match((await back.ctl('node', 'list')).data, { length: 3 })
  },
)
