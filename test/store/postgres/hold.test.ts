import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { SchemaFault, StorageUnreachable } from '../../../lib/base/faults.ts'
import { type Clock, systemClock } from '../../../lib/base/time.ts'

import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { openStore } from '../../../lib/store/open.ts'
import { type HoldParts, holdNode, lockServer, type NodeHold } from '../../../lib/store/postgres/hold.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')

async function holding(t: Test, parts: Partial<HoldParts> = {}) {
  const url = parts.url ?? (await newPostgresDatabase(migratedDatabase))
  const hold = await holdNode({
    url,
    node: 'n',
    clock: systemClock,
    requireSame: async () => {},
    ...parts,
  })
  t.teardown(() => hold.release())
  await hold.letOthersStart()
  const server = new pg.Client({ connectionString: url })
  server.on('error', () => {})
  await server.connect()
  t.teardown(() => server.end())
  const end = (name: string) =>
    server.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name like $1`,
      [name],
    )
  return { url, hold, server, end }
}

const hadAgain = (hold: NodeHold, ms?: number) =>
  until(
    'it to be had again',
    () =>
      hold.requireHeld().then(
        () => true,
        () => false,
      ),
    ms,
  )

t.test('what is asked while the lock is lost is not done, and after it is', { skip }, async t => {
  let letGo = () => {}
  const same = new Promise<void>(resolve => {
    letGo = resolve
  })
  const { url, hold, end } = await holding(t, { requireSame: () => same })
  const failures: string[] = []
  const outage = { hold, failed: (error: Error) => failures.push(error.message) }
  const store = await openStore(url, systemClock, { outage })
  t.teardown(() => store.close())
  const read = () => store.read.selectFrom('migration').selectAll().execute()
  await read()
  let lost = 0
  hold.onLost(() => lost++)
  await end('mailboxd lock%')
  await until('it to be lost', () => lost === 1)
  await t.rejects(read(), StorageUnreachable)
  await t.rejects(
    store.write(async () => t.fail('it began')),
    StorageUnreachable,
  )
  t.ok(failures.length >= 2)
  letGo()
  await hadAgain(hold)
  t.ok((await read()).length > 0)
  t.equal(lost, 1)
})

t.test('a clock that is set in the middle of a write cuts it off', { skip }, async t => {
  let setMs = 0
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + setMs) }
  const { url, hold } = await holding(t, { clock })
  const store = await openStore(url, clock, { outage: { hold } })
  t.teardown(() => store.close())
  for (const isInOrder of [true, false]) {
    for (const isBefore of [true, false]) {
      const name = `${isInOrder}-${isBefore}.example`
      const work = async (db: WriteDb) => {
        if (isBefore) setMs = 6 * 86_400_000
        await sql`insert into "sweep" ("name", "heldBy") values (${name}, ${clock.now().toISOString()})`.execute(
          db,
        )
        // The commit is what is left.
        setMs = 6 * 86_400_000
      }
      const written = isInOrder ? store.write(work) : store.writeHolding(() => ({}), work)
      await t.rejects(written, { name: 'StorageUnreachable', message: /clock of this machine/ }, name)
      setMs = 0
      await hadAgain(hold)
      const found = await sql`select 1 from "sweep" where "name" = ${name}`.execute(store.read)
      t.equal(found.rows.length, 0)
    }
  }
})

t.test('who waits for a connection or an answer when the lock is lost is told at once', { skip }, async t => {
  const { url, hold, server, end } = await holding(t, { requireSame: () => new Promise(() => {}) })
  const store = await openStore(url, systemClock, { outage: { hold }, connections: 1 })
  t.teardown(() => store.close())
  const asked = sql`select pg_sleep(60)`.execute(store.read)
  const isAsked = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  await until('it to be asked', async () => (await server.query(isAsked)).rows.length > 0)
  const waits = store.read.selectFrom('migration').selectAll().execute()
  const told = [
    t.rejects(asked, /Connection terminated/),
    t.rejects(waits, /ended the connection|terminating connection/, 'and not after the time for one'),
  ]
  await end('mailboxd lock%')
  await Promise.all(told)
})

/** What lies between a node and its server, and may be cut: then nothing comes through any more, and nobody hears of it. */
async function startNetwork(t: Test, url: string) {
  const to = Number(new URL(url).port)
  const cuttable = new Set<Socket>()
  const near = new Set<Socket>()
  const server = createServer(socket => {
    near.add(socket)
    const beyond = connect(to, '127.0.0.1')
    for (const [one, other] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      cuttable.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const end = () => {
    for (const one of cuttable) one.destroy()
    server.close()
  }
  t.teardown(end)
  return {
    end,
    url: url.replace(`:${to}/`, `:${(server.address() as AddressInfo).port}/`),
    /** Of the connections that are there; those that come are not. */
    cut() {
      for (const one of cuttable) one.unpipe().pause()
    },
    /** The node is told of the end of those that are there, and the server is not. */
    drop() {
      for (const one of near) one.unpipe().removeAllListeners('close').destroy()
      near.clear()
    },
  }
}

t.test(
  'a network that is cut is noticed, and what was held over it is held over another',
  { skip },
  async t => {
    const network = await startNetwork(t, await newPostgresDatabase(migratedDatabase))
    const { url, hold } = await holding(t, network)
    const store = await openStore(url, systemClock, { outage: { hold } })
    t.teardown(() => store.close())
    const read = () => store.read.selectFrom('migration').selectAll().execute()
    await read()
    let lost = 0
    hold.onLost(() => lost++)
    network.cut()
    // The session of before is there, as far as the server knows, and has the lock.
    const hanging = read()
    await t.rejects(hanging, StorageUnreachable)
    t.equal(lost, 1)
    await hadAgain(hold, 60_000)
    t.ok((await read()).length > 0)
    network.end()
  },
)

t.test('what can not be had again ends it', { skip }, async t => {
  const { hold, end } = await holding(t, {
    requireSame: async () => {
      throw new SchemaFault('moved away')
    },
  })
  await end('mailboxd lock%')
  t.match(await hold.failed, new SchemaFault('moved away'))
  await t.rejects(hold.requireHeld(), StorageUnreachable)
})

t.test(
  'while a node starts, which may change the schema, a lost lock is not had again',
  { skip },
  async t => {
    const { url, hold, server, end } = await holding(t)
    const other = await holdNode({ url, node: 'm', clock: systemClock, requireSame: async () => {} })
    t.teardown(() => other.release())
    await end('mailboxd lock n')
    const isWaiting = `select 1 from pg_locks where locktype = 'advisory' and not granted`
    await until('it to wait', async () => (await server.query(isWaiting)).rows.length > 0)
    await t.rejects(hold.requireHeld(), StorageUnreachable)
    await other.letOthersStart()
    await hadAgain(hold)
  },
)

t.test(
  'a process that must have the database alone waits for nobody, and keeps nodes out',
  { skip },
  async t => {
    const { url, hold } = await holding(t)
    await t.rejects(lockServer(url), {
      name: 'DataDirectoryBusy',
      message: /a mailboxd runs on this database/,
    })
    await hold.release()
    const free = await lockServer(url)
    const parts = { url, node: 'n', clock: systemClock, requireSame: async () => {} }
    await t.rejects(holdNode(parts), { name: 'DataDirectoryBusy', message: /has this database for itself/ })
    await free()
  },
)

t.test(
  'a second daemon of one name is refused; the server forgets one that stands still, and lets the next one in',
  { skip },
  async t => {
    const { url, server } = await holding(t)
    const parts = { url, node: 'n', clock: systemClock, requireSame: async () => {} }
    await t.rejects(holdNode(parts), {
      name: 'DataDirectoryBusy',
      message: /as the node n: its data_dir was copied/,
    })
    const isThere = `select 1 from pg_stat_activity where application_name = 'mailboxd lock m' and datname = current_database()`
    const silent = await startNetwork(t, url)
    const gone = await holdNode({ ...parts, url: silent.url, node: 'm' })
    t.teardown(() => gone.release())
    silent.cut()
    // It waits until the server has ended the session of the one before.
    const next = await holdNode({ ...parts, node: 'm' }).catch(async error => {
      // That one was starting, and let others start when it was forgotten.
      t.match(error, { name: 'DataDirectoryBusy' })
      return holdNode({ ...parts, node: 'm' })
    })
    t.equal((await server.query(isThere)).rows.length, 1)
    await next.release()
    silent.end()
  },
)

/** A clock that can be set beside the time that only goes forward. */
function settable(byMs = 0) {
  let shownMs = byMs
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + shownMs) }
  return {
    clock,
    set(ms: number) {
      shownMs = ms
    },
  }
}

const day = 86_400_000

t.test("by a clock that is not the server's nothing is taken", { skip }, async t => {
  const url = await newPostgresDatabase(migratedDatabase)
  for (const [byMs, way] of [
    [day, '86400 seconds ahead of'],
    [-day, '86400 seconds behind'],
  ] as const) {
    const parts = { node: 'n', requireSame: async () => {} }
    await t.rejects(holdNode({ ...parts, url, clock: settable(byMs).clock }), {
      name: 'StorageUnreachable',
      message: `the clock of this machine is ${way} that of the database's server: have both follow a time server (timedatectl set-ntp true); it may be the server's that is wrong`,
      sentence: `The clock of this machine is ${way} that of the database's server.`,
      isShortage: false,
    })
  }
  const { hold } = await holding(t, { url, clock: settable(5_000).clock })
  await hold.requireHeld()
  t.pass('a few seconds are nothing')
})

t.test('a clock that is set while it is held: nothing is done until it is right', { skip }, async t => {
  for (const byMs of [day, -day]) {
    const { clock, set } = settable()
    const { url, hold } = await holding(t, { clock })
    const store = await openStore(url, clock, { outage: { hold } })
    t.teardown(() => store.close())
    const write = () => store.write(async () => 'done')
    t.equal(await write(), 'done')
    set(byMs)
    const sentence = `The clock of this machine is 86400 seconds ${byMs > 0 ? 'ahead of' : 'behind'} that of the database's server.`
    const isApart = { name: 'StorageUnreachable', sentence }
    await t.rejects(write(), isApart, 'the first write after it, too')
    set(0)
    await hadAgain(hold)
    t.equal(await write(), 'done')
  }
})

t.test('who has no connection left for it is told so', { skip }, async t => {
  const whole = await newPostgresDatabase(migratedDatabase)
  const server = new pg.Client({ connectionString: whole })
  await server.connect()
  t.teardown(() => server.end())
  // No limit holds for the owner of the server.
  await server.query('create role "few" login')
  t.teardown(() => server.query('drop role "few"'))
  const url = Object.assign(new URL(whole), { username: 'few' }).href
  const { hold } = await holding(t, { url })
  await server.query('alter role "few" connection limit 0')
  await server.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', ['few'])
  await until('the server to say so', () =>
    hold.requireHeld().then(
      () => false,
      ({ sentence }) => sentence === 'The server of the database has too many connections.',
    ),
  )
  await server.query('alter role "few" connection limit -1')
  await hadAgain(hold)
})
