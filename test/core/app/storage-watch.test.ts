import Database from 'better-sqlite3'
import t from 'tap'
import { createLog } from '../../../lib/base/log.ts'
import { requireHealth, requireSettled } from '../../../lib/core/app/status.ts'
import { nearlyFull } from '../../../lib/core/app/storage.ts'
import { startStorageWatch } from '../../../lib/core/app/storage-watch.ts'
import { databasePath } from '../../../lib/core/open-rows.ts'
import { startApi } from '../../support/api-app.ts'
import { insertPodRow } from '../../support/rows.ts'
import { until } from '../../support/until.ts'

t.test('a reader that holds the log back is told once, at its begin and at its end', async t => {
  const { app } = await startApi(t)
  const lines: { level: string; msg: string }[] = []
  const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
  const logBytes = 64 * 1024
  const watch = startStorageWatch(
    { ...app, config: { ...app.config, min_free: 0 }, log },
    { lookMs: 10, heldMs: 50, logBytes, syncMs: 60_000 },
  )
  t.teardown(() => watch.stop())
  t.strictSame(await requireHealth(app), [])

  const reader = new Database(databasePath(app.config.data_dir), { readonly: true })
  t.teardown(() => reader.close())
  reader.exec('begin')
  reader.prepare('select count(*) from "pod"').get()
  const write = () => app.store.write(db => insertPodRow(db, { name: 'x'.repeat(logBytes) }))
  await write()
  await write()
  const isTold = async () => (await requireHealth(app)).length > 0
  await until('it is told', isTold)
  t.match(await requireHealth(app), [/^Another program has read the database for so long/])
  for (let count = 0; count < 5; count++) await write()
  reader.exec('commit')
  await until('it is over', async () => !(await isTold()))
  t.strictSame(
    lines.map(({ level, msg }) => [level, msg]),
    [
      ['warn', 'another program reads the database for so long that its write-ahead log grows'],
      ['warn', 'the write-ahead log is as short again as it should be'],
    ],
  )
})

t.test('a disk that is full is told to who asks for the health as to who sends', async t => {
  const { app } = await startApi(t)
  const full = Object.assign(new Error('no space'), { code: 'SQLITE_FULL' })
  const store = { ...app.store, writeHolding: () => Promise.reject(full) }
  await t.rejects(requireHealth(Object.create(app, { store: { value: store } })), {
    code: 'unavailable',
    message: nearlyFull,
  })
  const watch = startStorageWatch(
    { ...app, config: { ...app.config, min_free: 2 ** 50 } },
    { lookMs: 10, heldMs: 50, logBytes: 64 * 1024, syncMs: 60_000 },
  )
  t.teardown(() => watch.stop())
  await until('the watch sees it', () => app.storage.fault !== undefined)
  await t.rejects(requireHealth(app), { code: 'unavailable', message: nearlyFull })
})

t.test('who asks for the health is told in time that a server does not answer', async t => {
  const { app } = await startApi(t)
  let writes = 0
  const write = () => {
    writes++
    return new Promise(() => {})
  }
  const store = { ...app.store, dialect: 'postgres', writeHolding: write }
  const unreached: typeof app = Object.create(app, { store: { value: store } })
  const told = {
    code: 'unavailable',
    message: 'The server of the database does not answer. Try again shortly.',
  }
  const asked = [1, 2].map(() => requireHealth(unreached))
  for (const one of asked) await t.rejects(one, told)
  t.equal(writes, 2, 'each tries for itself, for another connection may come through')
})

t.test(
  'a disk that keeps nothing is told once, at its begin and at its end, and to who asks for the health',
  async t => {
    const { app } = await startApi(t)
    const lines: { level: string; msg: string }[] = []
    const log = createLog('info', { write: line => void lines.push(JSON.parse(line)) })
    const disk = Promise.withResolvers<void>()
    let held: Promise<void> | undefined = disk.promise
    let writes = 0
    const write = () => {
      writes++
      return disk.promise
    }
    const store = { ...app.store, writeHolding: write, settled: () => held }
    const hung: typeof app = Object.create(app, {
      store: { value: store },
      log: { value: log },
      config: { value: { ...app.config, min_free: 0 } },
    })
    const asked: Promise<unknown>[] = [1, 2, 3].map(() => requireHealth(hung))
    asked.push(requireSettled(hung))
    for (const one of asked)
      await t.rejects(one, {
        code: 'unavailable',
        message: /^The disk of this server does not keep what is written/,
      })
    t.equal(writes, 1, 'however many ask')
    const bounds = { lookMs: 10, heldMs: 60_000, logBytes: 2 ** 30, syncMs: 30 }
    const watch = startStorageWatch(hung, bounds)
    t.teardown(() => watch.stop())
    await until('it is told', () => app.storage.fault !== undefined)
    held = undefined
    disk.resolve()
    await until('it is over', () => app.storage.fault === undefined)
    t.match(lines, [
      { level: 'error', msg: /^the disk does not keep what is written/ },
      { level: 'warn', msg: 'the disk keeps what is written again' },
    ])
    t.strictSame(await requireHealth(hung), [])
  },
)
