import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BytesElsewhere, DiskFailed } from '../../../lib/base/faults.ts'

import { createInbox } from '../../../lib/core/account/inboxes.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { verify } from '../../../lib/core/backup/verify.ts'
import { checkStrays } from '../../../lib/core/doctor/raws.ts'
import { createDraft } from '../../../lib/core/drafts/drafts.ts'
import {
  blobInDatabaseBytes,
  dropFilesOf,
  fewStrays,
  findFile,
  keepBytes,
  setAsideStrays,
  strayKeptMs,
  tendStrays,
} from '../../../lib/core/mailbox/raws.ts'
import { readStatus } from '../../../lib/core/status.ts'
import { insertRaw } from '../../../lib/store/raws.ts'
import type { NodeRow } from '../../../lib/store/tables.ts'
import { turnsDuring } from '../../support/event-loop.ts'
import { nodeRow, putNodeRow } from '../../support/rows.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test(
  'files that no row points to are set aside; those of messages stay, and so do those that are not named',
  async t => {
    const { app, port, messages, raw, dataDir, log } = await openDoor(t)
    const dialog = await greetedDialog(port)
    await dialog.envelope('bob@example.net', 'postmaster')
    t.equal((await dialog.data(`Subject: x\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}x`)).code, 250)
    const pathOf = (id: string) => join(dataDir, 'raw', id.slice(-2), id)
    const makeStray = () => {
      const id = app.ids.next()
      mkdirSync(join(dataDir, 'raw', id.slice(-2)), { recursive: true })
      writeFileSync(pathOf(id), 'left by a kill')
      return id
    }
    const strays = [makeStray(), makeStray()]
    const ids = await app.blobs.list()
    t.equal(ids.length, 3)
    const later = makeStray()

    await setAsideStrays(app, [ids], 'files', () => true)
    t.ok(
      strays.every(id => existsSync(pathOf(id))),
      'nothing is done when it is to stop',
    )
    let looks = 0
    await setAsideStrays(app, [ids], 'files', () => looks++ >= ids.length)
    t.notOk(
      log.some(({ msg }) => /^moved files/.test(String(msg))),
      'nothing is logged when it stops before the first move',
    )

    await setAsideStrays(app, [ids], 'files', () => false)
    t.notOk(strays.some(id => existsSync(pathOf(id))))
    for (const id of strays) t.equal(readFileSync(join(dataDir, 'stray', id), 'latin1'), 'left by a kill')
    t.ok(existsSync(pathOf(later)), 'the file of a message that is under way')
    const [message] = await messages()
    t.equal((await raw(message!)).length > 400_000, true)
    t.match(log.at(-1), { level: 'warn', msg: /stray.*30 days/, files: 2 })
    t.equal((await readStatus(app)).strays, 2, 'mailboxctl status counts them')
  },
)

/** Puts so many files that no row points to where large messages are. */
function makeStrays({ dataDir, app }: { dataDir: string; app: App }, count: number): string[] {
  return Array.from({ length: count }, () => {
    const id = app.ids.next()
    mkdirSync(join(dataDir, 'raw', id.slice(-2)), { recursive: true })
    writeFileSync(join(dataDir, 'raw', id.slice(-2), id), 'x')
    return id
  })
}

async function receiveLarge(port: number): Promise<void> {
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'postmaster')
  await dialog.data(`Subject: x\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}x`)
}

t.test('nothing is set aside where the database seems to be the wrong one', async t => {
  const door = await openDoor(t, { breaks: ['raw'] })
  const { app, port, log, dataDir } = door
  const [one] = makeStrays(door, 1)
  await setAsideStrays(app, [await app.blobs.list()], 'files', () => false)
  t.strictSame(await app.blobs.list(), [one], 'it has no messages')
  t.match(log.at(-1), { level: 'error', strays: 1, msg: /may be the wrong database/ })

  await receiveLarge(port)
  makeStrays(door, fewStrays)
  const ids = await app.blobs.list()
  await setAsideStrays(app, [ids], 'files', () => false)
  t.strictSame((await app.blobs.list()).sort(), ids.sort(), 'it has one for few of the files')
  t.match(log.at(-1), { level: 'error', strays: 11, files: 12 })
  t.notOk(existsSync(join(dataDir, 'stray')))
  t.match((await readStatus(app)).straysLeft, { files: { strays: 11, files: 12, at: String }, objects: null })
  t.match(await checkStrays(dataDir), [
    {
      level: 'error',
      code: 'strays_left',
      message: /^11 of 12 files have no row.*may be the wrong database/,
    },
  ])
  await setAsideStrays(app, [ids], 'objects', () => false)
  t.match(await checkStrays(dataDir), [{ message: /files/ }, { message: /12 objects of the bucket/ }])

  const known = ids.filter(id => id !== one)
  await setAsideStrays(app, [known], 'files', () => false)
  t.equal((await app.blobs.list()).length, 2, 'ten are few')
  t.match((await readStatus(app)).straysLeft, { files: null, objects: { strays: 11 } })
})

t.test('a file without a row is kept for 30 days, and comes back when its row does', async t => {
  const door = await openDoor(t)
  const { app, port, dataDir } = door
  await receiveLarge(port)
  const [kept] = await app.blobs.list()
  const strayOf = (id: string) => join(dataDir, 'stray', id)
  const [old, young] = makeStrays(door, 2)
  await setAsideStrays(app, [[old!, young!]], 'files', () => false)
  const age = (id: string, ms: number) => {
    const at = (app.clock.now().getTime() - ms) / 1000
    utimesSync(strayOf(id), at, at)
  }
  age(old!, strayKeptMs + 60_000)
  age(young!, strayKeptMs - 60_000)
  renameSync(join(dataDir, 'raw', kept!.slice(-2), kept!), strayOf(kept!))
  const findings = await verify({
    dataDir,
    clock: app.clock,
    openBlobs: async () => ({ ...app.blobs, close: async () => {} }),
    eventsKeptMs: 86_400_000,
  })
  t.match(findings, [{ check: 'files', subject: kept, found: /stray.*restart mailboxd/ }])
  await tendStrays(app, () => false)
  t.strictSame(await app.blobs.list(), [kept])
  t.strictSame(readdirSync(join(dataDir, 'stray')), [young])
})

t.test('the file of an attachment of a draft has its row, too', async t => {
  const { app } = await openDoor(t)
  const inbox = await createInbox(app, operator, {})
  const content = Buffer.alloc(1_000_000, 'x').toString('base64')
  await createDraft(app, operator, inbox.id, {
    attachments: [{ filename: 'x.txt', contentType: 'text/plain', content }],
  })
  const ids = await app.blobs.list()
  t.equal(ids.length, 1)
  await setAsideStrays(app, [ids], 'files', () => false)
  t.strictSame(await app.blobs.list(), ids)
})

t.test('bytes that are not here are gone, unless another node may have them', async t => {
  const door = await openDoor(t, { breaks: ['raw'] })
  const onServer: App = Object.create(door.app, {
    store: { value: Object.create(door.app.store, { dialect: { value: 'postgres' } }) },
  })
  const { blobs, clock, ids, store } = door.app
  const [there, gone, rowless] = [ids.next(), ids.next(), ids.next()]
  writeFileSync(blobs.spoolPath(there), 'x')
  await blobs.keep({ id: there, sizeBytes: 1, sha256: '' }, blobs.spoolPath(there))
  const fileOf = (id: string) => ({ id, sizeBytes: 1, sha256: '' })
  const put = (id: string, state: NodeRow['state']) =>
    store.write(db => putNodeRow(db, nodeRow(id, { state })))
  const createdAt = clock.now().toISOString()
  await store.write(db => insertRaw(db, { id: gone, sizeBytes: 1, sha256: '', content: null, createdAt }))
  for (const app of [door.app, onServer]) {
    t.match(await findFile(app, fileOf(there)), { kind: 'file' })
    t.equal(await findFile(app, fileOf(gone)), undefined, 'nobody else is there')
  }
  for (const state of ['up', 'stopped', 'gone'] as const) {
    await put('another', state)
    t.match(await findFile(onServer, fileOf(there)), { kind: 'file' })
    await t.rejects(findFile(onServer, fileOf(gone)), BytesElsewhere, state)
    t.equal(await findFile(onServer, fileOf(rowless)), undefined, 'what no row points to is nowhere')
    t.equal(await findFile(door.app, fileOf(gone)), undefined, 'a file of rows has one node')
  }
})

t.test('when a write failed, its files go, unless nobody knows what the disk has kept', async t => {
  const { app } = await openDoor(t)
  const keep = async () => {
    const id = app.ids.next()
    writeFileSync(app.blobs.spoolPath(id), 'x')
    await app.blobs.keep({ id: id, sizeBytes: 1, sha256: '' }, app.blobs.spoolPath(id))
    return id
  }
  const [one, other] = [await keep(), await keep()]
  await dropFilesOf(app, new Error('refused'), [one])
  await dropFilesOf(app, new DiskFailed('fsync'), [other])
  t.strictSame(await app.blobs.list(), [other])
})

t.test('a raw that can not be put into its place leaves nothing in the spool', async t => {
  const { app, dataDir } = await openDoor(t)
  const id = app.ids.next()
  // A file stands where its folder would be.
  writeFileSync(join(dataDir, 'raw', id.slice(-2)), '')
  await t.rejects(keepBytes(app, id, [Buffer.alloc(blobInDatabaseBytes), Buffer.alloc(1)]))
  t.strictSame(readdirSync(join(dataDir, 'spool')), [])
})

t.test('the event loop comes round while many files are looked at', async t => {
  const { app, port } = await openDoor(t)
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'postmaster')
  t.equal((await dialog.data(`Subject: x\r\n\r\n${`${'x'.repeat(998)}\r\n`.repeat(400)}x`)).code, 250)
  const [id] = await app.blobs.list()
  const count = 2_000
  const { turns } = await turnsDuring(() =>
    setAsideStrays(app, [Array(count).fill(id)], 'files', () => false),
  )
  t.ok(turns >= count / 100, `${turns} turns for ${count} files`)
  t.strictSame(await app.blobs.list(), [id])
})
