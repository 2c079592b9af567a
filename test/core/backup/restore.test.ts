import { hash } from 'node:crypto'
import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  readdirSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { BackupFault, SchemaFault } from '../../../lib/base/faults.ts'
import { createSecretBox } from '../../../lib/base/secrets.ts'
import { systemClock } from '../../../lib/base/time.ts'
import { writeArchive } from '../../../lib/blob/archive.ts'
import { openDisk } from '../../../lib/blob/disk.ts'
import { makeBackup } from '../../../lib/core/backup/backup.ts'
import { openBackup } from '../../../lib/core/backup/contents.ts'
import { restoreBackup } from '../../../lib/core/backup/restore.ts'
import { verify } from '../../../lib/core/backup/verify.ts'
import { openStore } from '../../../lib/store/open.ts'
import { insertRaw } from '../../../lib/store/raws.ts'
import { addStep } from '../../support/other-programs.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

/** A database of ours, and what somebody did to it. */
async function madeDatabase(t: Test, harm: string): Promise<string> {
  const path = join(temporaryDir(t), 'mailboxd.sqlite')
  await (await openStore(path, systemClock)).close()
  const connection = new Database(path)
  connection.unsafeMode()
  connection.exec(harm)
  connection.pragma('wal_checkpoint(truncate)')
  connection.pragma('journal_mode = delete')
  connection.close()
  return path
}

const head = {
  format: 'mailboxd backup',
  version: 1,
  createdAt: '2026-01-01T00:00:00.000Z',
  program: '0.1.0',
  files: 0,
  hasKey: false,
}

interface Restored {
  readonly harm?: string
  readonly said?: object
  /** The path of one in the place of a new one; `none`: there is none in the archive. */
  readonly database?: string
  readonly small?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
  readonly told?: (step: string) => void
}

const never = new AbortController().signal

async function restored(
  t: Test,
  { harm = '', said = {}, database = '', small = {}, signal = never, told = () => {} }: Restored,
): Promise<string> {
  const dir = temporaryDir(t)
  const path = join(dir, 'backup')
  const target = createWriteStream(path)
  const archive = writeArchive(target, new Date(0))
  await archive.addText('backup.json', JSON.stringify({ ...head, ...said }))
  for (const [name, text] of Object.entries(small)) await archive.addText(name, text)
  const made = database || (await madeDatabase(t, harm))
  if (made !== 'none') await archive.addFile('mailboxd.sqlite', made)
  const closed = once(target, 'close')
  await archive.finish()
  await closed
  const place = join(dir, 'place')
  mkdirSync(place)
  try {
    await restoreBackup(
      { dataDir: place, openBlobs: () => openDisk(place), signal, told },
      await openBackup(createReadStream(path), path),
    )
  } finally {
    if (!existsSync(join(place, 'mailboxd.sqlite'))) t.strictSame(readdirSync(place), [], 'nothing is left')
  }
  return place
}

const foreign: Record<string, string> = {
  'a trigger': `create trigger later after insert on "message" begin update "inbox" set "displayName" = 'x'; end`,
  'a view': 'create view "seen" as select * from "message"',
  'a table': 'create table "more" ("x" text)',
  'a virtual table': 'create virtual table "more" using fts5 (x)',
  'an index': 'create index "more" on "message" ("subject")',
  'an index of an expression': 'create index "more" on "message" (abs("id"))',
  'a column': `alter table "message" add column "more" text default 'x'`,
  'a table that is another': 'drop table "usage"; create table "usage" ("x" text)',
  'a view in the place of a table': 'drop table "usage"; create view "usage" as select 1 as "subject"',
  'a table that is missing': 'drop table "usage"',
  'an index that is missing': 'drop index "usage_period"',
  'a step that nobody knows': `insert into "migration" ("number", "name", "breaking", "appliedAt") values (9001, 'x', 0, 'x'); create table "more" ("x" text)`,
  'a step that was not done': 'delete from "migration" where "number" = 1',
  'no ledger': 'drop table "migration"',
}

t.test('a restore that is to end does so between two files, and looks at none of them', async t => {
  const steps: string[] = []
  const asked = { signal: AbortSignal.abort(), told: (step: string) => void steps.push(step) }
  await t.rejects(restored(t, asked), { name: 'AbortError' })
  t.notOk(steps.includes('checking'), `${steps}`)
})

t.test('a database is restored when its schema is what our migrations make, and nothing more', async t => {
  const place = await restored(t, {})
  t.ok(existsSync(join(place, 'mailboxd.sqlite')))
  for (const [name, harm] of Object.entries(foreign)) {
    await t.rejects(restored(t, { harm }), BackupFault, name)
  }
})

t.test('a backup of a development version is not restored, and the refusal says why', async t => {
  const harm = `update "migration" set "name" = 'first-mail'; insert into "migration" values (64, 'stored-bytes', 0, 'x', null)`
  await t.rejects(restored(t, { harm }), {
    name: 'UnreleasedSchema',
    message: /a development version of mailboxd/,
  })
})

t.test('a file that is gone is told as missing, one alone as well, and the backup is whole', async t => {
  const dir = temporaryDir(t)
  const store = await openStore(join(dir, 'mailboxd.sqlite'), systemClock)
  t.teardown(() => store.close())
  const row = { id: '0199', sizeBytes: 1, sha256: '', content: null, createdAt: head.createdAt }
  await store.write(db => insertRaw(db, row))
  const { missing, deletedMeanwhile } = await makeBackup({
    ...{ dataDir: dir, openOutput: () => new PassThrough().resume(), program: '0.1.0', clock: systemClock },
    ...{ withKey: false, hasBucket: false },
    ...{ signal: new AbortController().signal, told() {} },
  })
  t.strictSame([missing, deletedMeanwhile], [[row.id], 0])
})

t.test('a head that does not say what a backup says of itself', async t => {
  for (const said of [
    { version: { toString: 1, valueOf: 1 } },
    { version: 2 },
    { program: ['a'] },
    { files: {} },
    { files: -1 },
    { hasKey: 1 },
  ]) {
    await t.rejects(restored(t, { said }), BackupFault, JSON.stringify(said))
  }
})

t.test('verify tells of what is strange, and migrations do not run with it', async t => {
  for (const [name, harm] of Object.entries(foreign)) {
    if (!/^(a trigger|a view|a table|an index|a column)$/.test(name)) continue
    const path = await madeDatabase(t, harm)
    const found = await verify({
      dataDir: join(path, '..'),
      openBlobs: () => openDisk(join(path, '..')),
      clock: systemClock,
      eventsKeptMs: 7 * 86_400_000,
    })
    t.match(found, [{ check: 'schema' }, { check: 'account', found: /Start mailboxd/ }], name)
  }
  const paths = await Promise.all(
    [foreign['a trigger']!, foreign['a view']!].map(one => madeDatabase(t, one)),
  )
  addStep(t, {
    number: 2,
    name: 'next',
    breaking: false,
    sql: 'create table "later" ("id" text primary key);',
  })
  for (const path of paths) {
    await t.rejects(openStore(path, systemClock), SchemaFault)
  }
})

t.test('rows that would lead to a file of somebody else', async t => {
  const named = (id: string) =>
    `pragma foreign_keys = off; insert into "raw" values ('${id}', 7, '', null, '2026-01-01T00:00:00.000Z')`
  for (const id of [
    '../../secrets.key',
    '../../../../etc/passwd',
    'x',
    `01a20048-2643-7000-8000-00000000000/`,
  ]) {
    await t.rejects(restored(t, { harm: named(id) }), /has not the form of an id/, id)
  }
  await t.resolves(restored(t, { harm: named('01a20048-2643-7000-8000-000000000001') }))
})

t.test('small files are looked at, and a database must be there', async t => {
  const key = Buffer.alloc(32, 7)
  const text = `${key.toString('hex')}\n`
  const sealed = `insert into "secretKey" values ('${createSecretBox(key).keyId}', '2026-01-01T00:00:00.000Z')`
  const hasKey = { hasKey: true }
  await t.rejects(restored(t, { database: 'none' }), /is not whole: it has no mailboxd\.sqlite/)
  await t.rejects(restored(t, { said: hasKey, small: { 'secrets.key': 'zz' } }), /its secrets\.key is none/)
  await t.rejects(restored(t, { said: hasKey }), /says that it has a secrets\.key, and has none/)
  await t.rejects(restored(t, { small: { 'secrets.key': text } }), /says that it has no .*, and has one/)
  const other = { 'secrets.key': text.replaceAll('07', '08') }
  await t.rejects(restored(t, { harm: sealed, said: hasKey, small: other }), /is not the key that/)
  await t.rejects(restored(t, { small: { node: '../../\x1b[31mevil' } }), /name of the node is none/)
  await t.rejects(restored(t, { small: { 'acme/standing.json': 'x'.repeat(70_000) } }), /is larger than/)
  const small = { 'secrets.key': text, node: 'abcdefgh01234567\n' }
  await t.resolves(restored(t, { harm: sealed, said: hasKey, small }))
})

t.test(
  'who waits for a backup, or for its restore, is told of each step how far it is, to its end',
  async t => {
    const from = temporaryDir(t)
    const blobs = await openDisk(from)
    const store = await openStore(join(from, 'mailboxd.sqlite'), systemClock)
    const createdAt = head.createdAt
    for (const last of ['1', '2', '3']) {
      const id = `01a20048-2643-7000-8000-00000000000${last}`
      const spooled = join(from, last)
      writeFileSync(spooled, 'x')
      await blobs.keep({ id, sizeBytes: 1, sha256: '' }, spooled)
      await store.write(db =>
        insertRaw(db, { id, sizeBytes: 1, sha256: hash('sha256', 'x'), content: null, createdAt }),
      )
    }
    await store.close()
    const steps: string[] = []
    const told = (step: string, done: number, of: number) => void steps.push(`${step} ${done}/${of}`)
    const { signal } = new AbortController()
    const path = join(from, 'backup')
    const openOutput = () => createWriteStream(path)
    await makeBackup({
      ...{ dataDir: from, openOutput, program: '0.1.0', clock: systemClock },
      ...{ withKey: false, hasBucket: false, signal, told },
    })
    // How far the copy of the database is, is told now and then, where it takes long.
    const made = steps.splice(0).filter(step => !step.startsWith('database'))
    t.strictSame(made, ['files 1/3', 'files 2/3', 'files 3/3', 'writing 0/1', 'writing 1/1'])
    const place = join(from, 'place')
    await restoreBackup(
      { dataDir: place, openBlobs: () => openDisk(place), signal, told },
      await openBackup(createReadStream(path), path),
    )
    const restored = ['files 1/3', 'files 2/3', 'files 3/3', 'files 3/3']
    t.strictSame(steps, [...restored, 'checking 0/1', 'checking 1/1'])
  },
)
