import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { diskFaults } from '../support/disk-faults.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const skip = without('gcc')

interface Answer {
  readonly message?: string
  readonly total?: number
  readonly data?: readonly object[]
}

async function setUp(t: Test, toml = '') {
  const faults = diskFaults(t)
  faults.set([])
  const daemon = await startDaemon(t, { env: faults.env, toml })
  return { faults, ...(await clientOf(daemon)) }
}

async function clientOf(daemon: TestDaemon) {
  const { id, token } = await createInbox(daemon, 'ann')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${daemon.baseUrl}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: answer.status, body: (await answer.json()) as Answer }
  }
  const mail = () => mailTo(daemon)
  const total = async () => (await ask('GET', `/v1/inboxes/${id}/messages`)).body.total
  const said = (text: string) => daemon.log().filter(({ msg }) => String(msg).includes(text)).length
  return { daemon, ask, mail, total, said }
}

/** A message whose bytes are a file. */
const large = `${'x'.repeat(998)}\r\n`.repeat(600)

const readOnly = [
  { call: 'write', on: '-wal', with: 'EROFS' },
  { call: 'write', on: 'mailboxd.sqlite', with: 'EROFS' },
  { call: 'create', on: '*/spool/', with: 'EROFS' },
] as const

/** Brings a message; gives the reply to it. */
async function mailTo(daemon: TestDaemon, text = 'x\r\n'): Promise<string> {
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  const reply = await dialog.data(`Subject: s\r\n\r\n${text}`)
  dialog.end()
  return reply.text
}

t.test('an fsync that fails ends the process, and nobody was promised anything', { skip }, async t => {
  const { faults, daemon, mail, said, ask } = await setUp(t)
  t.match(await mail(), /^250 /)
  const ended = once(daemon.process, 'exit')
  faults.set([{ call: 'sync', on: '-wal', with: 'EIO' }])
  t.match(await mail(), /^451 4\.3\.0 /)
  const [code] = await ended
  t.equal(code, 1, 'so that it is started again')
  t.equal(said('the disk failed to keep what was written; exiting'), 1)
  t.equal(daemon.log().filter(({ level }) => level === 'fatal').length, 1)
  await t.rejects(ask('GET', '/health'))

  faults.set([])
  t.match(await mailTo(await daemon.restart()), /^250 /, 'a restart heals it')
})

t.test('a file that can not be written while its log can is told once, and heals', { skip }, async t => {
  const { faults, mail, total, said, ask } = await setUp(t)
  faults.set([{ call: 'write', on: 'mailboxd.sqlite', with: 'EIO' }])
  t.match(await mail(), /^250 /, 'the log keeps it')
  const unwell = await until('it is noticed', async () => {
    const health = await ask('GET', '/health')
    return health.status === 503 && health
  })
  t.match(unwell.body, { error: 'unavailable', message: /file of the database can not be written/ })
  t.match(await mail(), /^250 /)
  t.equal(said('the file of the database can not be written'), 1)
  faults.set([])
  await until('it is well again', async () => (await ask('GET', '/health')).status === 200)
  t.equal(said('the file of the database can be written again'), 1)
  t.equal(said('the file of the database can not be written'), 1)
  t.equal(await total(), 2)
})

t.test(
  'before the disk is full nothing new is taken, and what is there is read and deleted',
  { skip },
  async t => {
    const { faults, daemon, mail, total, said, ask } = await setUp(t)
    t.match(await mail(), /^250 /)
    const waiting = await greetedDialog(daemon.smtpPort)
    await waiting.envelope('bob@example.net', 'ann@ours.example')
    faults.set([], 1)
    await until('it is noticed', async () => (await ask('GET', '/health')).status === 503)
    t.match((await waiting.data('Subject: s\r\n\r\nx\r\n')).text, /^452 4\.3\.1 /, 'one that was begun')
    for (let count = 0; count < 3; count++) {
      const dialog = await greetedDialog(daemon.smtpPort)
      t.match((await dialog.say('MAIL FROM:<bob@example.net>')).text, /^452 4\.3\.1 /)
      dialog.end()
    }
    const refused = await ask('POST', '/v1/pods', {})
    t.match(refused, { status: 503, body: { error: 'unavailable', message: /nearly full/ } })
    t.equal(await total(), 1)

    t.equal(said('the disk is nearly full'), 1)
    faults.set([])
    await until('there is room', async () => (await ask('GET', '/health')).status === 200)
    const again = daemon.log().filter(({ msg }) => msg === 'there is room on the disk again')
    t.equal(again.length, 1)
    t.ok(Number(again[0]!.refused) >= 5, 'with how many were refused')
    t.match(await mail(), /^250 /)
    t.equal((await ask('POST', '/v1/pods', {})).status, 201)
  },
)

t.test('a disk that is full says so, and heals without a restart', { skip }, async t => {
  const { faults, daemon, mail, total, said, ask } = await setUp(t, 'min_free = 0')
  t.match(await mail(), /^250 /)
  faults.set([{ call: 'write', on: '-wal', with: 'ENOSPC' }])
  for (let count = 0; count < 3; count++) t.match(await mail(), /^452 4\.3\.1 /)
  t.match(await ask('POST', '/v1/pods', {}), { status: 503, body: { message: /nearly full/ } })
  t.equal((await ask('GET', '/health')).status, 503)
  t.equal(await total(), 1)
  faults.set([])
  t.match(await mail(), /^250 /)
  t.equal(await total(), 2)
  const errors = daemon.log().filter(({ level }) => level === 'error')
  const kinds = new Set(errors.map(({ msg }) => msg))
  t.equal(errors.length, kinds.size, 'once, however many were refused')
  t.ok(kinds.has('the database can not be written: nothing is promised meanwhile'))
  const [end] = daemon.log().filter(({ msg }) => msg === 'the database can be written again')
  t.ok(Number(end?.failed) >= 5, `${end?.failed} were refused`)
  t.equal(said('the database can be written again'), 1)
})

t.test(
  'a disk that can only be read: nothing is promised, what is there is read, and it heals',
  { skip },
  async t => {
    const { faults, daemon, mail, total, ask } = await setUp(t, 'min_free = 0')
    t.match(await mail(), /^250 /)
    faults.set(readOnly)
    for (const text of ['x\r\n', large]) t.match(await mailTo(daemon, text), /^45[12] 4\.3\./)
    t.equal((await ask('GET', '/health')).status, 503)
    t.ok([500, 503].includes((await ask('POST', '/v1/pods', {})).status))
    t.equal(await total(), 1, 'what is there is read')
    faults.set([])
    await until('it is well without a restart', async () => (await ask('GET', '/health')).status === 200)
    for (const text of ['x\r\n', large]) t.match(await mailTo(daemon, text), /^250 /)
    t.equal(await total(), 3)
  },
)

for (const [what, text, on] of [
  ['the log of the database', 'x\r\n', '-wal'],
  ['the file of a large message', large, '*/spool/'],
] as const) {
  t.test(
    `an fsync of ${what} takes long: nobody is promised anything before, and all else goes on`,
    { skip },
    async t => {
      const { faults, daemon, total, ask } = await setUp(t)
      const log = join(daemon.dataDir, 'mailboxd.sqlite-wal')
      // What was written at the start is in the file; the next write is the first one of a new log.
      const head = () => readFileSync(log).toString('hex', 0, 32)
      const before = head()
      await until('the log has begun anew', () => head() !== before)
      faults.set([{ call: 'hold', on }])
      let answer: string | undefined
      const mailed = mailTo(daemon, text).then(reply => {
        answer = reply
        return reply
      })
      for (let count = 0; count < 20; count++) t.equal(await total(), 0)
      t.equal((await ask('GET', '/v1/inboxes')).status, 200)
      t.equal(answer, undefined, 'neither taken nor refused')
      faults.set([])
      t.match(await mailed, /^250 /)
      t.equal(await total(), 1)
    },
  )
}

t.test('while another program holds the lock, requests are answered, and what is written waits', async t => {
  const { mail, total, ask, daemon } = await clientOf(await startDaemon(t))
  const holder = spawn(process.execPath, [
    '-e',
    `const db = new (require(${JSON.stringify(fileURLToPath(import.meta.resolve('better-sqlite3')))}))(process.argv[1])
    db.exec('begin immediate')
    console.log('held')
    process.stdin.once('data', () => { db.exec('commit'); process.exit() })`,
    join(daemon.dataDir, 'mailboxd.sqlite'),
  ])
  t.teardown(() => holder.kill('SIGKILL'))
  await once(holder.stdout, 'data')
  let answer: string | undefined
  const mailed = mail().then(text => {
    answer = text
    return text
  })
  for (let count = 0; count < 20; count++) t.equal(await total(), 0)
  t.equal((await ask('GET', '/v1/inboxes')).status, 200)
  t.equal(answer, undefined, 'neither taken nor refused')
  holder.stdin.write('let go\n')
  t.match(await mailed, /^250 /)
  t.equal(await total(), 1)
})
