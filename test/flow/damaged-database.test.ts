import { randomBytes, randomUUID } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { isOnServers } from '../support/server-stories.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** Overwrites the first pages of tables and indexes, while no daemon runs. */
function damage(daemon: TestDaemon, ...names: readonly string[]): void {
  const path = join(daemon.dataDir, 'mailboxd.sqlite')
  const database = new Database(path)
  database.pragma('wal_checkpoint(truncate)')
  const pageBytes = Number(database.pragma('page_size', { simple: true }))
  const rootOf = database.prepare('select rootpage from sqlite_master where name = ?').pluck()
  const pages = names.map(name => Number(rootOf.get(name)))
  database.close()
  const file = openSync(path, 'r+')
  for (const page of pages) writeSync(file, randomBytes(pageBytes), 0, pageBytes, (page - 1) * pageBytes)
  closeSync(file)
}

async function startDamaged(t: Test, ...names: readonly string[]) {
  const first = await startDaemon(t, { isContradictory: true, smtp: 'threads = 2' })
  const inbox = await createInbox(first, 'ann')
  const { token } = await first.createKey()
  t.equal(await first.end('SIGTERM'), 0)
  damage(first, ...names)
  const daemon = await first.restart()
  const ask = async (method: string, path: string, body?: object) => {
    const headers = {
      Authorization: `Bearer ${token}`,
      'Content-Type': 'application/json',
      'Idempotency-Key': randomUUID(),
    }
    const response = await fetch(`${daemon.baseUrl}${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  /** All replies of a session in which a message is sent. */
  const receive = async () => {
    const dialog = await greetedDialog(daemon.smtpPort)
    const said = []
    for (const line of ['MAIL FROM:<bob@example.net>', `RCPT TO:<${inbox.address}>`, 'DATA']) {
      said.push((await dialog.say(line)).text)
      if (!/^[23]/.test(said.at(-1)!)) break
    }
    if (said.at(-1)!.startsWith('354')) said.push((await dialog.data('Subject: s\r\n\r\nx\r\n')).text)
    await dialog.say('QUIT')
    return said.join('\n')
  }
  const fatal = () => daemon.log().filter(({ level }) => level === 'fatal')
  return { daemon, ask, receive, fatal, inbox }
}

t.test(
  'a damaged page that a write meets ends all writes, and is reported once',
  { skip: isOnServers },
  async t => {
    const { daemon, ask, receive, fatal, inbox } = await startDamaged(t, 'delivery')
    t.equal((await ask('GET', '/health')).status, 200, 'nothing has met it yet')
    const send = () =>
      ask('POST', `/v1/inboxes/${inbox.id}/send`, { to: 'bob@example.net', subject: 's', body: 'b' })
    for (let count = 0; count < 3; count++) t.match(await send(), { status: 503, text: /damaged/ })
    t.match(await ask('GET', '/health'), { status: 503, text: /The database of this server is damaged/ })
    t.equal((await ask('POST', '/v1/inboxes', {})).status, 503, 'nor what does not touch that page')
    for (let count = 0; count < 3; count++) t.notMatch(await receive(), /250 2\.0\.0/)
    t.equal((await ask('GET', '/v1/inboxes')).status, 200, 'what can be read is read')
    t.match(fatal(), [
      { err: { code: /^SQLITE_CORRUPT/ }, msg: /The database is damaged.*mailboxctl restore/ },
    ])
    t.equal(daemon.process.exitCode, null, 'it stays up')
    t.equal(await daemon.end('SIGTERM'), 0)
  },
)

t.test(
  'a damaged page that only a thread of SMTP sessions reads is reported as well',
  { skip: isOnServers },
  async t => {
    const { daemon, ask, receive, fatal } = await startDamaged(
      t,
      'policyRule',
      'policyRule_value',
      'policyMode',
    )
    await until('a session has met it', async () => {
      await receive()
      return (await ask('GET', '/health')).status === 503
    })
    t.match(await receive(), /451 4\.3\.0/)
    t.equal(fatal().length, 1)
    t.equal(await daemon.end('SIGTERM'), 0)
  },
)
