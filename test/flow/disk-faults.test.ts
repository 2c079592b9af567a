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

/** A daemon whose disk fails as it is told. Of all but the first fault below it heals, and is asked about the next. */
async function setUp(t: Test, toml = '') {
  const faults = diskFaults(t)
  faults.set([])
  const daemon = await startDaemon(t, { env: faults.env, toml })
  const { api, id } = await createInbox(daemon, 'ann')
  const mail = (text?: string) => mailTo(daemon, text)
  const total = async () => Number((await api.get(`/v1/inboxes/${id}/messages`)).body.total)
  const status = async () => (await api.get('/health')).status
  /** What its log has from now on. */
  const listen = () => {
    const begun = daemon.log().length
    const log = () => daemon.log().slice(begun)
    return { log, said: (text: string) => log().filter(({ msg }) => String(msg).includes(text)).length }
  }
  return { faults, daemon, api, mail, total, status, listen }
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

t.test('what is written waits', { skip }, async t => {
  const { faults, daemon, api, mail, total, status, listen } = await setUp(t)

  await t.test('while another program holds the lock, and requests are answered', async t => {
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
    t.equal((await api.get('/v1/inboxes')).status, 200)
    t.equal(answer, undefined, 'neither taken nor refused')
    holder.stdin.write('let go\n')
    t.match(await mailed, /^250 /)
    t.equal(await total(), 1)
  })

  for (const [what, text, on] of [
    ['the log of the database', 'x\r\n', '-wal'],
    ['the file of a large message', large, '*/spool/'],
  ] as const)
    await t.test(
      `for an fsync of ${what} that takes long: nobody is promised or shown anything before`,
      async t => {
        const log = join(daemon.dataDir, 'mailboxd.sqlite-wal')
        const head = () => readFileSync(log).toString('hex', 0, 32)
        let before: string
        do {
          before = head()
          t.match(await mail(), /^250 /)
        } while (head() !== before)
        const there = await total()
        // What was written last stands in a log that was there; once it is in the file, the next write is the first one of a new log.
        await until('the log has begun anew', () => head() !== before)
        faults.set([{ call: 'hold', on }])
        let answer: string | undefined
        const mailed = mail(text).then(reply => {
          answer = reply
          return reply
        })
        const other = await greetedDialog(daemon.smtpPort)
        // What is committed is read, and who asks waits for the fsync with it; the index may hold the lock, and nothing be committed.
        const shown: number[] = []
        const asked: Promise<unknown>[] = []
        for (let count = 0; count < 20; count++) {
          asked.push(total().then(found => shown.push(found)))
          t.match((await other.say('NOOP')).text, /^250 /, 'all else goes on')
        }
        other.end()
        if (on === '-wal') t.equal(await status(), 503)
        t.equal(answer, undefined, 'neither taken nor refused')
        t.notOk(shown.some(found => found > there))
        faults.set([])
        t.match(await mailed, /^250 /)
        await Promise.all(asked)
        t.equal(await total(), there + 1)
      },
    )

  await t.test('an fsync that fails ends the process, and nobody was promised anything', async t => {
    const { log, said } = listen()
    t.match(await mail(), /^250 /)
    const ended = once(daemon.process, 'exit')
    faults.set([{ call: 'sync', on: '-wal', with: 'EIO' }])
    t.match(await mail(), /^451 4\.3\.0 /)
    const [code] = await ended
    t.equal(code, 1, 'so that it is started again')
    t.equal(said('the disk failed to keep what was written; exiting'), 1)
    t.equal(log().filter(({ level }) => level === 'fatal').length, 1)
    await t.rejects(api.get('/health'))

    faults.set([])
    t.match(await mailTo(await daemon.restart()), /^250 /, 'a restart heals it')
  })
})

t.test('a disk that is nearly full, or keeps a part of what is written', { skip }, async t => {
  const { faults, daemon, api, mail, total, status, listen } = await setUp(t)

  await t.test('before it is full nothing new is taken, and what is there is read and deleted', async t => {
    const { log, said } = listen()
    t.match(await mail(), /^250 /)
    const waiting = await greetedDialog(daemon.smtpPort)
    await waiting.envelope('bob@example.net', 'ann@ours.example')
    faults.set([], 1)
    await until('it is noticed', async () => (await status()) === 503)
    t.match((await waiting.data('Subject: s\r\n\r\nx\r\n')).text, /^452 4\.3\.1 /, 'one that was begun')
    for (let count = 0; count < 3; count++) {
      const dialog = await greetedDialog(daemon.smtpPort)
      t.match((await dialog.say('MAIL FROM:<bob@example.net>')).text, /^452 4\.3\.1 /)
      dialog.end()
    }
    const refused = await api.post('/v1/pods', {})
    t.match(refused, { status: 503, body: { error: 'unavailable', message: /nearly full/ } })
    t.equal(await total(), 1)

    t.equal(said('the disk is nearly full'), 1)
    faults.set([])
    await until('there is room', async () => (await status()) === 200)
    const again = log().filter(({ msg }) => msg === 'there is room on the disk again')
    t.equal(again.length, 1)
    t.ok(Number(again[0]!.refused) >= 5, 'with how many were refused')
    t.match(await mail(), /^250 /)
    t.equal((await api.post('/v1/pods', {})).status, 201)
  })

  await t.test('a file that can not be written while its log can is told once, and heals', async t => {
    const { said } = listen()
    const there = await total()
    faults.set([{ call: 'write', on: 'mailboxd.sqlite', with: 'EIO' }])
    t.match(await mail(), /^250 /, 'the log keeps it')
    const unwell = await until('it is noticed', async () => {
      const health = await api.get('/health')
      return health.status === 503 && health
    })
    t.match(unwell.body, { error: 'unavailable', message: /file of the database can not be written/ })
    t.match(await mail(), /^250 /)
    t.equal(said('the file of the database can not be written'), 1)
    faults.set([])
    await until('it is well again', async () => (await status()) === 200)
    t.equal(said('the file of the database can be written again'), 1)
    t.equal(said('the file of the database can not be written'), 1)
    t.equal(await total(), there + 2)
  })
})

t.test('a disk that takes nothing, of which no room is to be left', { skip }, async t => {
  const { faults, api, mail, total, status, listen } = await setUp(t, 'min_free = 0')

  await t.test('one that is full says so, and heals without a restart', async t => {
    const { log, said } = listen()
    t.match(await mail(), /^250 /)
    faults.set([{ call: 'write', on: '-wal', with: 'ENOSPC' }])
    for (let count = 0; count < 3; count++) t.match(await mail(), /^452 4\.3\.1 /)
    t.match(await api.post('/v1/pods', {}), { status: 503, body: { message: /nearly full/ } })
    t.equal(await status(), 503)
    t.equal(await total(), 1)
    faults.set([])
    t.match(await mail(), /^250 /)
    t.equal(await total(), 2)
    const errors = log().filter(({ level }) => level === 'error')
    const kinds = new Set(errors.map(({ msg }) => msg))
    t.equal(errors.length, kinds.size, 'once, however many were refused')
    t.ok(kinds.has('the database can not be written: nothing is promised meanwhile'))
    const [end] = log().filter(({ msg }) => msg === 'the database can be written again')
    t.ok(Number(end?.failed) >= 5, `${end?.failed} were refused`)
    t.equal(said('the database can be written again'), 1)
  })

  await t.test(
    'one that can only be read: nothing is promised, what is there is read, and it heals',
    async t => {
      const there = await total()
      faults.set(readOnly)
      for (const text of ['x\r\n', large]) t.match(await mail(text), /^45[12] 4\.3\./)
      t.equal(await status(), 503)
      t.ok([500, 503].includes((await api.post('/v1/pods', {})).status))
      t.equal(await total(), there, 'what is there is read')
      faults.set([])
      await until('it is well without a restart', async () => (await status()) === 200)
      for (const text of ['x\r\n', large]) t.match(await mail(text), /^250 /)
      t.equal(await total(), there + 2)
    },
  )
})
