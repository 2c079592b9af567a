import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startBucket } from '../support/bucket.ts'
import { builtProgram } from '../support/built.ts'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { isOnServers } from '../support/server-stories.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const largeText = `${'x'.repeat(998)}\r\n`.repeat(400)
const letter = (name: string, text: string) =>
  `From: bob@example.net\r\nMessage-ID: <${name}@example.net>\r\nSubject: ${name}\r\n\r\n${text}end`

t.test(
  'large messages lie in a bucket; without it small ones are taken in and large ones put off',
  async t => {
    const bucket = await startBucket(t)
    // The table of the bucket ends where the next one begins.
    let daemon = await startDaemon(t, { toml: bucket.toml })
    const { token } = await daemon.createKey()
    let api = apiOf(daemon.baseUrl, token)
    const ann = (await api.post('/v1/inboxes', { mailboxName: 'ann' })).body
    const bob = (await api.post('/v1/inboxes', { mailboxName: 'bob' })).body
    const objects = () =>
      readdirSync(bucket.directory, { recursive: true })
        .map(String)
        .filter(name => /[0-9a-f]{12}\._S3rver_object$/.test(name))
    const bring = async (name: string, text: string) => {
      const dialog = await greetedDialog(daemon.smtpPort)
      await dialog.envelope('bob@example.net', ann.address)
      const said = await dialog.data(letter(name, text))
      dialog.end()
      return said
    }
    const cache = () => join(daemon.dataDir, 'cache')
    const forgetCopies = () => {
      for (const name of readdirSync(cache())) rmSync(join(cache(), name))
    }
    const newest = async () => (await api.get(`/v1/inboxes/${ann.id}/messages?limit=1`)).body.data[0]
    const rawOf = async (id: string) => {
      const response = await fetch(`${daemon.baseUrl}/v1/messages/${id}/raw`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return { status: response.status, text: await response.text(), headers: response.headers }
    }

    t.equal((await bring('one', largeText)).code, 250)
    t.equal((await bring('small', '')).code, 250)
    t.equal(objects().length, 1, 'the large one lies there, and the small one in the database')
    t.strictSame(readdirSync(join(daemon.dataDir, 'raw')), [])
    const { data: came } = (await api.get(`/v1/inboxes/${ann.id}/messages`)).body
    const { id } = came.find(({ subject }: { subject: string }) => subject === 'one')
    t.equal((await rawOf(id)).text, `${letter('one', largeText)}\r\n`)
    forgetCopies()
    t.equal((await rawOf(id)).text, `${letter('one', largeText)}\r\n`, 'fetched again')

    const attachments = [{ filename: 'a.bin', content: Buffer.alloc(500_000, 'a').toString('base64') }]
    const sent = await api.post(
      `/v1/inboxes/${ann.id}/send`,
      { to: bob.address, subject: 'large', body: 'x', attachments },
      { 'Idempotency-Key': 'large' },
    )
    t.equal(sent.status, 200)
    await until('the large message with the other inbox', async () => {
      const { data } = (await api.get(`/v1/inboxes/${bob.id}/messages`)).body
      return data[0]?.attachments?.length === 1
    })
    t.equal(objects().length, 2, 'both inboxes have one')

    t.strictSame((await daemon.ctl('verify')).findings, [])

    await bucket.stop()
    forgetCopies()
    const refused = await bring('two', largeText)
    t.match(refused, { code: 451 })
    t.match(refused.text, /^451 4\.3\.0 Large mail can not be stored just now/)
    t.equal((await bring('small two', '')).code, 250)
    const unread = await rawOf(id)
    t.equal(unread.status, 503)
    t.match(JSON.parse(unread.text), { error: 'unavailable', message: /store of large messages/ })
    t.ok(unread.headers.get('retry-after'))
    const unsent = await api.post(
      `/v1/inboxes/${ann.id}/send`,
      { to: bob.address, subject: 'again', body: 'x', attachments },
      { 'Idempotency-Key': 'again' },
    )
    t.match(unsent, { status: 503, body: { error: 'unavailable' } })
    const logged = (text: string) => daemon.log().filter(({ msg }) => String(msg).startsWith(text))
    // Those who take mail in ask the bucket for themselves.
    const out = { level: 'error', why: /^the bucket mail at \S+ can not be asked: / }
    t.match(logged('the bucket does not do what it is asked'), [out, out])
    t.strictSame(
      daemon.log().filter(({ level, msg }) => level === 'error' && !String(msg).startsWith('the bucket')),
      [],
      'and who met it is no trouble of its own',
    )
    await bucket.start()
    t.equal((await bring('two', largeText)).code, 250)
    t.match(logged('the bucket does again what it is asked'), [{ level: 'warn', failed: Number }])
    t.equal(objects().length, 3)
    t.match((await newest()).subject, /two/)

    daemon = await daemon.end('SIGTERM').then(() => daemon.restart())
    api = apiOf(daemon.baseUrl, token)
    forgetCopies()
    t.equal((await rawOf(id)).text, `${letter('one', largeText)}\r\n`, 'after a restart, too')

    // There a backup is the server's own.
    const dir = temporaryDir(t)
    const archive = join(dir, 'backup.tzst')
    if (isOnServers) {
      const refused = await daemon.ctlResult('backup', archive)
      t.match(refused, { code: 1, stderr: /pg_dump.*the bucket \(s3:.*bucket\.owner and .*secrets\.key/s })
      return
    }
    t.match(await daemon.ctl('backup', archive), { files: 0, filesInBucket: 3, missing: [] })
    const place = join(dir, 'data')
    mkdirSync(place)
    const config = join(dir, 'other.toml')
    writeFileSync(
      config,
      readFileSync(daemon.configPath, 'utf8').replace(/^data_dir = .*$/m, `data_dir = "${place}"`),
    )
    const ctl = (...args: string[]) =>
      runProgram(process.execPath, [builtProgram('mailboxctl'), '--config', config, '--json', ...args])
    const restored = await ctl('restore', archive)
    t.equal(restored.code, 0, restored.stderr)
    t.match(JSON.parse(restored.stdout), { missing: [] })
    t.equal((await ctl('message', 'raw', id)).stdout, `${letter('one', largeText)}\r\n`)

    // The copy has the same id, and must not harm the original.
    t.equal((await ctl('message', 'delete', id, '--yes')).code, 0)
    t.equal(objects().length, 3, 'what is deleted in a copy stays for the original')
    const doubtful = JSON.parse((await ctl('doctor')).stdout) as {
      findings: { code: string; message: string }[]
    }
    const said = doubtful.findings.find(({ code }) => code === 'bucket_failed')?.message
    t.match(
      said,
      new RegExp(
        `belong to another installation or to the original of this copy \\(${daemon.dataDir} on .*delete the object large/mailboxd.owner`,
      ),
    )
    t.equal((await bring('three', largeText)).code, 250, 'which goes on')
    t.equal(objects().length, 4)

    await api.delete(`/v1/messages/${id}`)
    t.equal(objects().length, 3, 'with the message its object goes')
    const object = join(bucket.directory, objects()[0]!)
    renameSync(object, join(dir, 'lost'))
    const found = await daemon.ctlResult('verify')
    t.equal(found.code, 1)
    t.match(JSON.parse(found.stdout).findings, [{ check: 'files', found: 'has no file' }])
    renameSync(join(dir, 'lost'), object)
  },
)

t.test('a bucket that is not there is told at the start, and small mail comes in', async t => {
  const bucket = await startBucket(t)
  const daemon = await startDaemon(t, { toml: bucket.toml.replace(/s3:\/\/[^"/]+/, 's3://nowhere') })
  const told = await until('it to be told', () =>
    daemon.troubles().find(({ code }) => code === 'bucket_failed'),
  )
  t.match(told, {
    level: 'error',
    subject: /^s3:\/\/nowhere/,
    msg: /^large mail is put off: there is no bucket nowhere/,
  })
  const ann = await createInbox(daemon, 'ann')
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', ann.address)
  t.equal((await dialog.data(letter('small', ''))).code, 250)
})
