import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { countAllExpired, deleteExpired, type RetentionRule } from '../../../lib/core/account/retention.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { startStorageWatch } from '../../../lib/core/app/storage-watch.ts'
import { compact } from '../../../lib/core/compact.ts'
import { startIndexing } from '../../../lib/core/mailbox/indexing.ts'
import { databasePath } from '../../../lib/core/open-rows.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { findContradictions } from '../../support/consistency.ts'
import { indexed } from '../../support/indexed.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

const dayMs = 86_400_000

/** The same some days later. */
function later(app: App, days: number): App {
  const { clock } = app
  const now = () => new Date(clock.now().getTime() + days * dayMs)
  return Object.create(app, { clock: { value: { ...clock, now } } })
}

async function setUp(t: Test) {
  const door = await openDoor(t)
  const dialog = await greetedDialog(door.port)
  const receive = async (subject: string, bytes: number, ...names: string[]) => {
    await dialog.envelope('bob@example.net', ...names.map(name => `${name}@ours.example`))
    const reply = await dialog.data(
      `From: bob@example.net\r\nSubject: ${subject}\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(bytes / 1000)}x`,
    )
    if (reply.code !== 250) throw new Error(reply.text)
  }
  const categorise = (subject: string, category: string) =>
    door.app.store.write(db =>
      db.updateTable('message').set({ category }).where('subject', '=', subject).execute(),
    )
  const left = async () =>
    (await door.messages()).map(({ toAddr, subject }) => `${toAddr[0]}: ${subject}`).sort()
  return { ...door, receive, categorise, left }
}

t.test('the first rule that means a message counts, and all that is its alone goes with it', async t => {
  const { app, inbox, receive, categorise, left, dataDir } = await setUp(t)
  const ann = await inbox('ann')
  await inbox('bea')
  for (const name of ['ann', 'bea']) {
    await receive(`letter to ${name}`, 0, name)
    await receive(`spam to ${name}`, 0, name)
    await categorise(`spam to ${name}`, 'spam')
  }
  await receive('large', 400_000, 'ann')
  await receive('to both', 400_000, 'ann', 'bea')
  await send(app, operator, ann, { to: 'carol@elsewhere.example', subject: 'out', body: 'Hello' }, 'one')
  await indexed(app.store)
  const all = await left()
  const rules: RetentionRule[] = [
    { category: 'spam', keepMs: 7 * dayMs },
    { inbox: 'Bea@ours.example' },
    { keepMs: 30 * dayMs },
  ]
  t.equal(await deleteExpired(later(app, 6), rules), 0)
  t.equal(await countAllExpired(later(app, 8), rules), 2)
  t.strictSame(await left(), all, 'to count changes nothing')
  t.equal(await deleteExpired(later(app, 8), rules), 2)
  t.strictSame(await left(), ['a: large', 'a: letter to ann', 'a: to both', 'b: letter to bea', 'b: to both'])
  t.equal(await deleteExpired(later(app, 31), rules), 3)
  t.strictSame(
    await left(),
    ['b: letter to bea', 'b: to both'],
    "of ann's the one that is on its way out is left",
  )
  const sent = await app.store.read
    .selectFrom('message')
    .select('subject')
    .where('direction', '=', 'outbound')
    .execute()
  t.match(sent, [{ subject: 'out' }])
  t.equal(
    readdirSync(join(dataDir, 'raw'), { recursive: true }).filter(name => String(name).length > 10).length,
    1,
  )
  t.equal(await deleteExpired(later(app, 400), [{ pod: 'nobody', keepMs: 1 }]), 0)
  const { podId } = await app.store.read
    .selectFrom('inbox')
    .select('podId')
    .where('id', '=', ann)
    .executeTakeFirstOrThrow()
  t.equal(await deleteExpired(later(app, 400), [{ pod: podId, keepMs: dayMs }]), 2)
  t.strictSame(await findContradictions(dataDir), [])
  t.equal(await deleteExpired(app, []), 0)
})

t.test('what is deleted leaves the file, in the quiet, and its words the index', async t => {
  const { app, inbox, receive, dataDir } = await setUp(t)
  await inbox('ann')
  for (let count = 0; count < 40; count++) await receive(`zebrastripe${count}`, 200_000, 'ann')
  const watch = startStorageWatch(app, { lookMs: 10, heldMs: 60_000, logBytes: 64 * 1024, syncMs: 60_000 })
  t.teardown(() => watch.stop())
  const indexing = startIndexing(app)
  t.teardown(() => indexing.stop())
  const path = databasePath(dataDir)
  const isIndexed = async () =>
    (await app.store.read.selectFrom('unindexedBody').select('messageId').execute()).length === 0
  await until('all is indexed', isIndexed)
  await until('all is in the file', () => statSync(path).size > 8_000_000)
  t.equal(await deleteExpired(later(app, 2), [{ keepMs: dayMs }]), 40)
  await until('the file is shorter', () => statSync(path).size < 6_000_000)
  await until('the bytes are gone', () => !readFileSync(path).includes('Subject: zebrastripe'))
  const reader = new Database(path, { readonly: true })
  t.teardown(() => reader.close())
  const inIndex = reader.prepare(
    `select count(*) from "messageSearch_data" where instr("block", cast('ebrastripe' as blob)) > 0`,
  )
  await until('the words are gone', () => inIndex.pluck().get() === 0)
})

t.test('a database of before gives back what is freed once it was written anew', async t => {
  const { app, inbox, receive, dataDir } = await setUp(t)
  await inbox('ann')
  for (let count = 0; count < 5; count++) await receive(`zebrastripe${count}`, 200_000, 'ann')
  await indexed(app.store)
  const old = new Database(databasePath(dataDir), { timeout: 5000 })
  old.pragma('auto_vacuum = none')
  old.exec('vacuum')
  t.equal(old.pragma('auto_vacuum', { simple: true }), 0)
  old.close()
  t.equal(await deleteExpired(later(app, 2), [{ keepMs: dayMs }]), 5)
  const { before, after } = await compact(app)
  t.ok(after < before - 900_000, `${before} became ${after}`)
  const now = new Database(databasePath(dataDir), { readonly: true })
  t.equal(now.pragma('auto_vacuum', { simple: true }), 2)
  now.close()
  for (const name of ['', '-wal'])
    t.notOk(readFileSync(`${databasePath(dataDir)}${name}`).includes('ebrastripe'))
})
