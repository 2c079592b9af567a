import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { apiOf } from '../support/api.ts'
import { noteServer } from '../support/consistency.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { createInbox, type TestInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

async function bring(daemon: TestDaemon, to: string, subject: string, bytes = 10) {
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', to)
  const lines = 'marzipan\r\n'.repeat(Math.ceil(bytes / 10))
  const said = await dialog.data(
    `From: bob@example.net\r\nMessage-ID: <${subject}@example.net>\r\nSubject: ${subject} – grün\r\n\r\n${lines}`,
  )
  dialog.end()
  return said
}

/** All that an agent can see of an inbox. */
async function seen(daemon: TestDaemon, token: string, { id }: TestInbox) {
  const api = apiOf(daemon.baseUrl, token)
  const get = async (path: string) => {
    const { status, body } = await api.get(path)
    if (status !== 200) throw new Error(`${path}: ${status} ${JSON.stringify(body)}`)
    return body
  }
  const messages = await get(`/v1/inboxes/${id}/messages?limit=100`)
  const raws = await Promise.all(
    messages.data.map(async (one: { id: string }) => {
      const answer = await fetch(`${daemon.baseUrl}/v1/messages/${one.id}/raw`, {
        headers: { authorization: `Bearer ${token}` },
      })
      return answer.text()
    }),
  )
  const paths = [
    `/v1/inboxes/${id}`,
    `/v1/inboxes/${id}/threads`,
    `/v1/inboxes/${id}/drafts`,
    '/v1/events?limit=100',
  ]
  const all = { messages, raws, others: await Promise.all([...paths, '/v1/webhook', '/v1/usage'].map(get)) }
  // Links lead to where the daemon listens by now, and an event says when it was told.
  const text = JSON.stringify(all).replaceAll(daemon.baseUrl, 'http://daemon')
  return JSON.parse(text.replaceAll(/"delivered_at":"[^"]*"/g, '"delivered_at":""'))
}

/** The rows are asked of another place from the next start on. */
function setDatabase({ configPath, dataDir }: TestDaemon, url: string | undefined): void {
  const lines = readFileSync(configPath, 'utf8')
    .split('\n')
    .filter(line => !line.startsWith('database ='))
  const at = lines.findIndex(line => line.startsWith('data_dir ='))
  if (url !== undefined) lines.splice(at, 0, `database = "${url}"`)
  writeFileSync(configPath, lines.join('\n'))
  noteServer(dataDir, url)
}

async function finds(t: Test, daemon: TestDaemon, token: string, { id }: TestInbox, count: number) {
  const api = apiOf(daemon.baseUrl, token)
  await until('all words in the index', async () => {
    const { body } = await api.get(`/v1/inboxes/${id}/messages?q=marzipan`)
    return body.total === count
  })
  t.equal((await api.get(`/v1/inboxes/${id}/messages?q=nougat`)).body.total, 0)
}

t.test(
  'an installation moves to PostgreSQL and back while it is stopped, and agents see no difference',
  { skip: without('postgres') },
  async t => {
    const url = await newPostgresDatabase()
    let daemon = await startDaemon(t, {})
    const ann = await createInbox(daemon, 'ann')
    const { token } = await daemon.createKey()
    t.match(await ann.api.call('PUT', '/v1/webhook', { url: 'https://hooks.example/x' }), { status: 200 })
    t.match(await ann.api.post(`/v1/inboxes/${ann.id}/drafts`, { subject: 'later', body: 'b' }), {
      status: /^20/,
    })
    t.equal((await bring(daemon, ann.address, 'small')).code, 250)
    t.equal((await bring(daemon, ann.address, 'large', 400_000)).code, 250)
    await ann.received(2)
    const sent = await ann.api.send(ann.id, { to: 'x@nobody.example', subject: 's', body: 'b' }, 'once')
    t.equal(sent.status, 200)

    const early = await daemon.ctlResult('migrate', '--to', url)
    t.match([early.code, early.stderr], [1, /mailboxd runs: stop it .* and run the same command again/])
    t.equal((await bring(daemon, ann.address, 'third')).code, 250)
    await ann.received(3)
    const before = await seen(daemon, token, ann)
    t.equal(await daemon.end('SIGTERM'), 0)
    const passwordFile = join(temporaryDir(t), 'password')
    writeFileSync(passwordFile, 'it is not asked for\n')
    const moved = await daemon.ctl('migrate', '--to', url, '--password-file', passwordFile)
    t.match(moved, { rows: Number, next: /set database = .*, and below \[postgres\] password_file with/ })
    t.notMatch(moved.next, /:[^/@]+@/, 'no password in what is to be set')
    const early2 = await daemon.ctlResult('key', 'list')
    t.match(
      [early2.code, early2.stderr],
      [78, /is missing, .*were moved to a PostgreSQL server .*: set `database` in the configuration/],
      'nothing goes on here',
    )
    setDatabase(daemon, url)
    daemon = await daemon.restart()
    t.strictSame(await seen(daemon, token, ann), before)
    await finds(t, daemon, token, ann, 3)
    const again = await apiOf(daemon.baseUrl, token).send(
      ann.id,
      { to: 'x@nobody.example', subject: 's', body: 'b' },
      'once',
    )
    t.strictSame([again.status, again.body.id], [200, sent.body.id], 'what was sent once is sent once')
    t.equal((await bring(daemon, ann.address, 'on-the-server')).code, 250)

    await t.test('an installation is never written over', async t => {
      const other = await startDaemon(t, {})
      await other.end('SIGTERM')
      const refused = await other.ctlResult('migrate', '--to', url)
      t.match([refused.code, refused.stderr], [1, /a mailboxd runs on the database where the rows are to go/])
    })

    const soon = await daemon.ctlResult('migrate', '--to', 'sqlite')
    t.match([soon.code, soon.stderr], [1, /mailboxd runs on \S+ \(\w{16}\): stop it/])

    await daemon.end('SIGTERM')
    const back = await daemon.ctl('migrate', '--to', 'sqlite')
    t.match(back, {
      rows: Number,
      next: /take `database` out .*do not start a mailboxd on the database that was set/,
    })
    setDatabase(daemon, undefined)
    daemon = await daemon.restart()
    const now = await seen(daemon, token, ann)
    t.equal(now.messages.total, before.messages.total + 1)
    t.strictSame(now.raws.slice(1), before.raws)
    await finds(t, daemon, token, ann, 4)
    t.match(await daemon.ctl('verify'), { ok: true })
  },
)
