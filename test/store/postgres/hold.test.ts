import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/clock.ts'
import type { HeldServer } from '../../../lib/base/held-server.ts'
import { SchemaFault } from '../../../lib/base/schema-fault.ts'
import { StorageUnreachable } from '../../../lib/base/storage-fault.ts'
import type { WriteDb } from '../../../lib/store/dialect/dialect.ts'
import { openReader, openStore } from '../../../lib/store/open.ts'
import { followHold } from '../../../lib/store/postgres/followed-hold.ts'
import { type HoldParts, holdNode } from '../../../lib/store/postgres/hold.ts'
import { lockNode } from '../../../lib/store/postgres/lock.ts'
import { createServers } from '../../../lib/store/postgres/servers.ts'
import { OwnSessions } from '../../../lib/store/postgres/take-name.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')

/** What a daemon leaves that is gone, where the server does not know it: a session that has the name of its node, and asks nothing. */
async function leaveSession(t: Test) {
  const url = await newPostgresDatabase(migratedDatabase)
  const session = new pg.Client({ connectionString: url })
  session.on('error', () => {})
  await session.connect()
  t.teardown(() => session.end().catch(() => {}))
  await session.query(`select pg_advisory_lock_shared(1852793957, hashtext('n'))`)
  return { url, session }
}

/** By the end of this file it has asked nothing for long. */
let longGone: Awaited<ReturnType<typeof leaveSession>>
t.before(async () => {
  if (!skip) longGone = await leaveSession(t)
})

async function holding(t: Test, parts: Partial<HoldParts> = {}) {
  const url = parts.url ?? (await newPostgresDatabase(migratedDatabase))
  const hold = await holdNode({
    url,
    node: 'n',
    newestStep: 1,
    clock: systemClock,
    requireSame: async () => {},
    timelinePath: join(t.testdir(), 'timeline'),
    warn: sentence => t.fail(sentence),
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
  await until('it to be had again', () => hold.server().catch(() => undefined))
  t.ok((await read()).length > 0)
  t.equal(lost, 1)
})

t.test('a clock that is set in the middle of a write cuts it off', { skip }, async t => {
  let setMs = 0
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() + setMs) }
  const { url, hold } = await holding(t, { clock })
  const store = await openStore(url, clock, { outage: { hold } })
  t.teardown(() => store.close())
  for (const isSerial of [true, false]) {
    for (const isBefore of [true, false]) {
      const name = `${isSerial}-${isBefore}.example`
      const work = async (db: WriteDb) => {
        if (isBefore) setMs = 6 * 86_400_000
        await sql`insert into "sweep" ("name", "heldBy") values (${name}, ${clock.now().toISOString()})`.execute(
          db,
        )
        // The commit is what is left.
        setMs = 6 * 86_400_000
      }
      const written = isSerial ? store.write(work) : store.writeHolding(() => ({}), work)
      await t.rejects(written, { name: 'StorageUnreachable', message: /clock of this machine/ }, name)
      setMs = 0
      await until('it to be had again', () => hold.server().catch(() => undefined))
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
    await until('it to be had again', () => hold.server().catch(() => undefined), 60_000)
    t.ok((await read()).length > 0)
    network.end()
  },
)

/** The process of the server that has the newest session with the lock. */
const lockProcess = async (server: pg.Client): Promise<number> =>
  (
    await server.query(
      `select pid from pg_stat_activity where datname = current_database() and application_name like 'mailboxd lock%' order by backend_start desc limit 1`,
    )
  ).rows[0].pid

t.test(
  'a node goes on beside a session of its own that stands still, and others find its name taken',
  { skip },
  async t => {
    const direct = await newPostgresDatabase(migratedDatabase)
    const network = await startNetwork(t, direct)
    const { hold } = await holding(t, network)
    const server = new pg.Client({ connectionString: direct })
    server.on('error', () => {})
    await server.connect()
    t.teardown(() => server.end())
    const stands = await lockProcess(server)
    process.kill(stands, 'SIGSTOP')
    const goOn = () => {
      try {
        process.kill(stands, 'SIGCONT')
      } catch {
        // It has ended.
      }
    }
    t.teardown(goOn)
    const changed: HeldServer[] = []
    hold.onChange(held => changed.push(held))
    network.drop()
    await until('it to be had again', () => changed.some(held => 'url' in held))
    t.strictSame(await Promise.race([hold.failed, 'it holds']), 'it holds')
    const second = lockProcess(server)
    t.not(await second, stands)
    // Its own former session is ended where it goes on, and the lock is had all the same.
    goOn()
    const isThere = 'select 1 from pg_stat_activity where pid = $1'
    await until('its end', async () => (await server.query(isThere, [stands])).rows.length === 0)
    const held = `select 1 from pg_locks where locktype = 'advisory' and classid = 1852793957 and pid = $1`
    t.equal((await server.query(held, [await second])).rows.length, 1)
    network.end()
  },
)

t.test('who may end no sessions goes on beside its own, and says which right it needs', { skip }, async t => {
  const whole = await newPostgresDatabase(migratedDatabase)
  const server = new pg.Client({ connectionString: whole })
  server.on('error', () => {})
  await server.connect()
  t.teardown(() => server.end())
  await server.query('create role "weak" login')
  t.teardown(() => server.query('drop role "weak"'))
  await server.query('revoke execute on function pg_terminate_backend from public')
  const network = await startNetwork(t, Object.assign(new URL(whole), { username: 'weak' }).href)
  const warned: string[] = []
  const { hold } = await holding(t, { url: network.url, warn: sentence => warned.push(sentence) })
  const changed: HeldServer[] = []
  hold.onChange(held => changed.push(held))
  network.drop()
  await until('it to be had again', () => changed.some(held => 'url' in held))
  t.match(warned, [
    /^a former session of this node .* can not be ended: permission denied for function pg_terminate_backend\. This one goes on beside it; grant execute on function pg_terminate_backend\(integer, bigint\) to weak$/,
  ])
  network.end()
})

t.test('what can not be had again ends it', { skip }, async t => {
  const { hold, end } = await holding(t, {
    requireSame: async () => {
      throw new SchemaFault('moved away')
    },
  })
  await end('mailboxd lock%')
  t.match(await hold.failed, new SchemaFault('moved away'))
  await t.rejects(hold.server(), StorageUnreachable)
})

t.test('while a node starts, who may change the schema, a lost lock is not had again', { skip }, async t => {
  const { url, hold, server, end } = await holding(t)
  const own = new OwnSessions()
  const parts = { node: 'm', own, newestStep: 2, clock: systemClock, isStarting: true, warn() {} }
  const other = await lockNode(createServers(url), parts)
  t.teardown(() => other.release())
  await end('mailboxd lock n')
  const isWaiting = `select 1 from pg_locks where locktype = 'advisory' and not granted`
  await until('it to wait', async () => (await server.query(isWaiting)).rows.length > 0)
  await t.rejects(hold.server(), StorageUnreachable)
  await other.letOthersStart()
  t.equal((await until('the lock again', () => hold.server().catch(() => undefined))).url, url)
})

t.test(
  'who reads in another thread follows the hold: what it waits for is over when that is lost',
  { skip },
  async t => {
    const { url, hold: held, server } = await holding(t)
    const hold = followHold(held.held)
    const { read, close } = await openReader(url, 60_000, hold)
    t.teardown(close)
    const asked = sql`select pg_sleep(60)`.execute(read)
    const isAsked = `select 1 from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
    await until('it to be asked', async () => (await server.query(isAsked)).rows.length > 0)
    const told = t.rejects(asked, /Connection terminated/)
    hold.tell({ lost: 'the server is gone' })
    await told
    const look = () => read.selectFrom('migration').selectAll().execute()
    await t.rejects(look(), { name: 'StorageUnreachable', message: /the server is gone/ })
    hold.tell(held.held)
    t.ok((await look()).length > 0)
  },
)

t.test('a hold tells what becomes of it', { skip }, async t => {
  const { url, hold, end } = await holding(t)
  t.match(hold.held, { url, timeline: { system: /^\d+$/, number: 1 } })
  const told: HeldServer[] = []
  const off = hold.onChange(held => told.push(held))
  await end('mailboxd lock%')
  await until('both', () => told.length === 2)
  t.match(told, [{ lost: /terminat|ended/ }, { url }])
  off()
  await end('mailboxd lock%')
  await until('it to be had again', async () => (await hold.server().catch(() => undefined))?.url === url)
  t.equal(told.length, 2)
})

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
    const timelinePath = join(t.testdir(), 'timeline')
    const parts = { node: 'n', newestStep: 1, timelinePath, requireSame: async () => {}, warn() {} }
    await t.rejects(holdNode({ ...parts, url, clock: settable(byMs).clock }), {
      name: 'StorageUnreachable',
      message: `the clock of this machine is ${way} that of the database's server: have both follow a time server (timedatectl set-ntp true); it may be the server's that is wrong`,
      sentence: `The clock of this machine is ${way} that of the database's server.`,
      isShortage: false,
    })
  }
  const { hold } = await holding(t, { url, clock: settable(5_000).clock })
  t.equal((await hold.server()).url, url, 'a few seconds are nothing')
})

t.test('a clock that is set while it is held: nothing is done until it is right', { skip }, async t => {
  for (const byMs of [day, -day]) {
    const { clock, set } = settable()
    const { url, hold } = await holding(t, { clock })
    const store = await openStore(url, clock, { outage: { hold } })
    t.teardown(() => store.close())
    const inThread = followHold(hold.held)
    hold.onChange(held => inThread.tell(held))
    const write = () => store.write(async () => 'done')
    t.equal(await write(), 'done')
    set(byMs)
    const sentence = `The clock of this machine is 86400 seconds ${byMs > 0 ? 'ahead of' : 'behind'} that of the database's server.`
    const isApart = { name: 'StorageUnreachable', sentence }
    await t.rejects(write(), isApart, 'the first write after it, too')
    await t.rejects(inThread.server(), isApart)
    set(0)
    await until('it to be had again', () => hold.server().catch(() => undefined))
    t.equal(await write(), 'done')
    t.equal((await inThread.server()).url, url)
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
    hold.server().then(
      () => false,
      ({ sentence }) => sentence === 'The server of the database has too many connections.',
    ),
  )
  await server.query('alter role "few" connection limit -1')
  t.equal((await until('the lock again', () => hold.server().catch(() => undefined))).url, url)
})

t.test('a start tells a daemon that lives from the session of one that is gone', { skip }, async t => {
  const { url, server } = await holding(t)
  // By it all waits are over soon.
  const clock = { ...systemClock, monotonicMs: () => 20 * systemClock.monotonicMs() }
  const timelinePath = join(t.testdir(), 'timeline')
  const parts = { node: 'n', newestStep: 1, timelinePath, clock, requireSame: async () => {}, warn() {} }
  await t.rejects(holdNode({ ...parts, url }), {
    name: 'DataDirectoryBusy',
    message:
      /^another mailboxd runs on this database as the node n: its data_dir was copied\. .* \(that one asks over process \d+ of the server, from 127/,
  })
  t.ok(await lockProcess(server), 'which goes on')

  const hold = await holdNode({ ...parts, clock: systemClock, url: longGone.url })
  t.teardown(() => hold.release())
  await t.rejects(longGone.session.query('select 1'), 'it was ended')
})

t.test('a start beside a session that it may not end or see says what is to be done', { skip }, async t => {
  const { url, session } = await leaveSession(t)
  await session.query('create role "strange" login')
  t.teardown(() => session.query('drop role "strange"'))
  const clock = { ...systemClock, monotonicMs: () => 20 * systemClock.monotonicMs() }
  const timelinePath = join(t.testdir(), 'timeline')
  const parts = { node: 'n', newestStep: 1, timelinePath, clock, requireSame: async () => {}, warn() {} }
  const strange = Object.assign(new URL(url), { username: 'strange' }).href
  await t.rejects(holdNode({ ...parts, url: strange }), {
    name: 'DataDirectoryBusy',
    message:
      /^a session of the role postgres \(process (\d+) of the server\) has the name of the node n, .*\(select pg_terminate_backend\(\1\)\); grant pg_read_all_stats to strange$/,
  })
})
