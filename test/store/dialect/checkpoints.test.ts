import { closeSync, openSync, readSync, statSync } from 'node:fs'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { type LogState, openCheckpointer } from '../../../lib/store/dialect/checkpointer.ts'
import { openStore, type Store } from '../../../lib/store/open.ts'
import { insertInstallation, insertPodRow } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

const bounds = { lookMs: 10, logBytes: 256 * 1024, idleMs: 100 }

async function setUp(t: Test) {
  const path = `${temporaryDir(t)}/test.sqlite`
  const store = await openStore(path, systemClock)
  await store.write(insertInstallation)
  const told: LogState[] = []
  const checkpoints = store.keepLog(bounds, state => told.push(state))
  t.teardown(async () => {
    await checkpoints.stop()
    await store.close()
  })
  const logBytes = () => statSync(`${path}-wal`).size
  return { path, store, told, logBytes, isEmpty: () => logBytes() < 20_000 }
}

/** The head of the log, which is another one each time that it begins anew. */
function headOf(path: string): string {
  const file = openSync(`${path}-wal`, 'r')
  const head = Buffer.alloc(32)
  readSync(file, head, 0, 32, 0)
  closeSync(file)
  return head.toString('hex')
}

/** Writes about as many bytes as that. */
async function writeBytes(store: Store, bytes: number) {
  const name = 'x'.repeat(50_000)
  for (let written = 0; written < bytes; written += name.length) {
    await store.write(db => insertPodRow(db, { name }))
  }
}

t.test('the log is moved into the file beside the writes, and emptied when nothing is written', async t => {
  const { path, store, isEmpty } = await setUp(t)
  const before = statSync(path).size
  await writeBytes(store, 2 * bounds.logBytes)
  await until('an empty log', isEmpty)
  t.ok(statSync(path).size > before + bounds.logBytes, 'what was in it is in the file')
  const { podCount } = await store.read.selectFrom('account').select('podCount').executeTakeFirstOrThrow()
  t.ok(podCount > 10)
})

t.test('what begins the log anew, and waits for the disk, is never the thread that writes', async t => {
  const path = `${temporaryDir(t)}/test.sqlite`
  const store = await openStore(path, systemClock)
  await store.write(insertInstallation)
  const checkpointer = openCheckpointer(path, { logBytes: bounds.logBytes, idleLooks: 2 })
  t.teardown(async () => {
    checkpointer.close()
    await store.close()
  })
  let head = headOf(path)
  for (const what of ['moved', 'moved again', 'emptied when nothing was written']) {
    t.match(checkpointer.look(), { fault: null, lost: null })
    if (what.startsWith('emptied')) {
      t.equal(checkpointer.look(), undefined, 'nothing has happened')
      t.match(checkpointer.look(), { usedBytes: 0, fault: null, lost: null })
      t.ok(statSync(`${path}-wal`).size < 20_000)
      t.equal(checkpointer.look(), undefined)
    }
    t.not(headOf(path), head, what)
    head = headOf(path)
    await writeBytes(store, 50_000)
    t.equal(headOf(path), head, 'the write goes on in the log that is there')
  }
})

t.test(
  'a log that is longer than it may be begins anew when nobody reads it, however long it is',
  async t => {
    const path = `${temporaryDir(t)}/test.sqlite`
    const store = await openStore(path, systemClock)
    await store.write(insertInstallation)
    const checkpointer = openCheckpointer(path, { logBytes: bounds.logBytes, idleLooks: 2 })
    t.teardown(async () => {
      checkpointer.close()
      await store.close()
    })
    checkpointer.look()
    for (const times of [0.5, 2, 20]) {
      await writeBytes(store, times * bounds.logBytes)
      const isLong = statSync(`${path}-wal`).size > bounds.logBytes
      t.equal(isLong, times > 1)
      const { usedBytes } = checkpointer.look()!
      t.equal(usedBytes === 0, isLong, `${times} times as long: ${usedBytes} bytes are in use`)
    }
  },
)

t.test('the log begins anew while writes go on, and its file stays short', async t => {
  const { store, told, logBytes } = await setUp(t)
  let isDone = false
  const writing = (async () => {
    while (!isDone) await writeBytes(store, 50_000)
  })()
  const isNew = () => told.some(({ usedBytes }, at) => at > 0 && usedBytes < told[at - 1]!.usedBytes)
  try {
    await until('a log that was long and begun anew', () => told.length > 2 && isNew())
    await until('its file cut down', () => logBytes() < 4 * bounds.logBytes)
  } finally {
    isDone = true
    await writing
  }
  t.ok(told.every(({ fault, lost }) => fault === null && lost === null))
})

t.test('a reader of another program holds the log back, and nothing else', async t => {
  const { path, store, told, logBytes, isEmpty } = await setUp(t)
  const reader = new Database(path, { readonly: true })
  t.teardown(() => reader.close())
  reader.exec('begin')
  reader.prepare('select count(*) from "pod"').get()
  await writeBytes(store, 4 * bounds.logBytes)
  await until('it is told', () => (told.at(-1)?.usedBytes ?? 0) > 2 * bounds.logBytes)
  t.ok(logBytes() > 2 * bounds.logBytes)
  t.equal(told.at(-1)!.fault, null, 'which is no fault of the disk')
  reader.exec('commit')
  await until('an empty log', () => isEmpty() && told.at(-1)!.usedBytes === 0)
})
