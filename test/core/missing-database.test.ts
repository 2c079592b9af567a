import { existsSync, mkdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createIds } from '../../lib/base/ids.ts'
import { systemClock } from '../../lib/base/time.ts'
import { quietLog } from '../../lib/cli/log.ts'
import { localConfig } from '../../lib/config/load.ts'
import { nodeName } from '../../lib/core/nodes/node-name.ts'
import { openDesk } from '../../lib/core/open-desk.ts'
import { databasePath, openRows } from '../../lib/core/open-rows.ts'
import { newPostgresDatabase } from '../support/databases.ts'
import { without } from '../support/peers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const partsOf = (dataDir: string) => ({
  config: localConfig({ dataDir }),
  clock: systemClock,
  ids: createIds(systemClock),
  log: quietLog,
  mayMigrate: true,
  baseUrl: () => 'http://127.0.0.1',
})

/** Makes an installation and closes it. */
async function make(dataDir: string): Promise<void> {
  const { store } = await openDesk(partsOf(dataDir))
  await store.close()
}

const raw = (dataDir: string) => {
  mkdirSync(join(dataDir, 'raw', '5e'), { recursive: true })
  writeFileSync(join(dataDir, 'raw', '5e', '0192c1de-0000-7000-8000-00000000005e'), 'mail')
}

t.test(
  'a database that is missing, or of 0 bytes, beside any file of an installation is not made again',
  async t => {
    const traces: Record<string, (dataDir: string) => unknown> = {
      'secrets.key': dataDir => make(dataDir).then(() => t.ok(existsSync(join(dataDir, 'secrets.key')))),
      node: dataDir => make(dataDir).then(() => nodeName(dataDir)),
      'raw.used': dataDir => writeFileSync(join(dataDir, 'raw.used'), ''),
      'raw/': raw,
      'bucket.owner': dataDir => writeFileSync(join(dataDir, 'bucket.owner'), 'x\n'),
      'running.json': dataDir => writeFileSync(join(dataDir, 'running.json'), '{}'),
      'before-upgrade-60.sqlite': dataDir => writeFileSync(join(dataDir, 'before-upgrade-60.sqlite'), 'x'),
      'mailboxd.sqlite-wal': dataDir => writeFileSync(join(dataDir, 'mailboxd.sqlite-wal'), 'the log'),
    }
    for (const [name, leave] of Object.entries(traces)) {
      for (const how of ['missing', 'empty'] as const) {
        const dataDir = join(temporaryDir(t), 'data')
        mkdirSync(dataDir)
        await leave(dataDir)
        const path = databasePath(dataDir)
        rmSync(path, { force: true })
        if (how === 'empty') writeFileSync(path, '')
        await t.rejects(openRows(partsOf(dataDir)), { name: 'DatabaseMissing' }, `${name}, ${how}`)
        const { message } = await openRows(partsOf(dataDir)).then(
          () => new Error('it was opened'),
          (error: Error) => error,
        )
        for (const part of [`${path} is ${how}`, name, 'mailboxctl restore', `move ${dataDir} away`])
          t.ok(message.includes(part), `${name}, ${how}: the message has ${part}`)
        t.equal(statSync(path, { throwIfNoEntry: false })?.size ?? 0, 0, 'no database was made')
      }
    }
  },
)

t.test('the log of a database that is missing stays as it is', async t => {
  const dataDir = join(temporaryDir(t), 'data')
  mkdirSync(dataDir)
  writeFileSync(`${databasePath(dataDir)}-wal`, 'the log')
  await t.rejects(openRows(partsOf(dataDir)), { name: 'DatabaseMissing' })
  t.equal(readFileSync(`${databasePath(dataDir)}-wal`, 'latin1'), 'the log')
})

t.test('a database that has lost its tables is none either', async t => {
  const dataDir = join(temporaryDir(t), 'data')
  await make(dataDir)
  rmSync(databasePath(dataDir))
  const other = new Database(databasePath(dataDir))
  other.pragma('journal_mode = wal')
  other.close()
  t.ok(statSync(databasePath(dataDir)).size > 0)
  await t.rejects(openRows(partsOf(dataDir)), { name: 'DatabaseMissing' })
})

t.test('a first start that was killed at any point is repeated', async t => {
  const points: Record<string, (dataDir: string) => unknown> = {
    'the directory': () => {},
    'the lock': dataDir => writeFileSync(join(dataDir, 'daemon.lock'), ''),
    'an empty file': dataDir => writeFileSync(databasePath(dataDir), ''),
    'a file without tables': dataDir => {
      const database = new Database(databasePath(dataDir))
      database.pragma('journal_mode = wal')
      database.close()
    },
    tables: async dataDir => {
      const { store } = await openRows(partsOf(dataDir))
      await store.close()
    },
    'the key': async dataDir => {
      const { store } = await openRows(partsOf(dataDir))
      await store.close()
      writeFileSync(join(dataDir, 'secrets.key'), `${'0'.repeat(64)}\n`)
    },
    'the key and its row': make,
    folders: async dataDir => {
      await make(dataDir)
      await nodeName(dataDir)
      for (const name of ['raw', 'spool']) mkdirSync(join(dataDir, name))
    },
  }
  for (const [name, leave] of Object.entries(points)) {
    const dataDir = join(temporaryDir(t), 'data')
    mkdirSync(dataDir)
    await leave(dataDir)
    await t.resolves(make(dataDir), name)
  }
})

t.test(
  'an empty database on a server is not filled where the data directory has files of an installation',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase()
    const dataDir = join(temporaryDir(t), 'data')
    const parts = { ...partsOf(dataDir), config: { ...localConfig({ dataDir }), database } }
    mkdirSync(dataDir)
    // The name of a node and the timeline are older than the rows.
    await nodeName(dataDir)
    writeFileSync(join(dataDir, 'secrets.key'), `${'0'.repeat(64)}\n`)
    await t.rejects(openRows(parts), {
      name: 'DatabaseMissing',
      message: /PostgreSQL server is empty.*secrets\.key/,
    })
    rmSync(join(dataDir, 'secrets.key'))
    writeFileSync(databasePath(dataDir), 'rows that were not moved')
    await t.rejects(openRows(parts), { message: /mailboxctl migrate/ })
    truncateSync(databasePath(dataDir))
    const { store } = await openDesk(parts)
    await store.close()
  },
)
