import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import pg from 'pg'
import t from 'tap'
import { openPostgres } from '../../../lib/store/postgres/pool.ts'
import { connectTo, createServers, Pooled, toldOf, toldOfEach } from '../../../lib/store/postgres/servers.ts'
import { OldPrimary } from '../../../lib/store/postgres/timeline.ts'
import { writeCertificateFor } from '../../support/certificate.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

t.test('a URL names one server or several', async t => {
  for (const one of ['postgres://u@/d?host=%2Ftmp', 'postgresql://u:p@a/d', 'postgres://a/d'])
    t.match(createServers(one), { url: one, all: [one] })
  t.equal(createServers('postgres://u@[::1]:3,b:2/d?x=y').url, 'postgres://u@[::1]:3/d?x=y')
  const servers = createServers('postgres://u@a,b:2/d?x=y')
  const [a, b] = ['postgres://u@a/d?x=y', 'postgres://u@b:2/d?x=y']
  t.equal(servers.url, a)
  servers.failed(b)
  t.equal(servers.url, a, 'one that is not asked says nothing new')
  servers.failed(a)
  t.equal(servers.url, b)
  servers.failed(b)
  t.equal(servers.url, a)
})

t.test(
  'the one that answers is asked, with its settings and ours',
  { skip: without('postgres') },
  async t => {
    const url = await newPostgresDatabase()
    const nobody = await freePort('127.0.0.1')
    const several = url.replace('127.0.0.1:', `127.0.0.1:${nobody},127.0.0.1:`)
    const servers = createServers(`${several}?options=${encodeURIComponent('-c work_mem=77kB')}`)
    const { client } = await connectTo(servers, {}, '-c tcp_keepalives_count=3')
    t.teardown(() => client.end())
    const settings = `select name, setting from pg_settings where name in ('work_mem', 'tcp_keepalives_count') order by name`
    t.strictSame((await client.query(settings)).rows, [
      { name: 'tcp_keepalives_count', setting: '3' },
      { name: 'work_mem', setting: '77' },
    ])
    const gone = `127.0.0.1:${nobody}`
    await t.rejects(connectTo(createServers(`postgres://postgres:secret@${gone},${gone}/d`), {}), {
      name: 'StorageUnreachable',
      lost: { code: 'ECONNREFUSED' },
      // Each with its reason: one that is a standby says nothing of the one that is gone.
      message: new RegExp(`asked: ${gone}: connect ECONNREFUSED [^;]*; ${gone}: connect ECONNREFUSED [^;]*$`),
    })
    const pool = openPostgres(`postgres://postgres@${gone},${gone}/d`, 1)
    t.teardown(pool.close)
    await t.rejects(pool.take(), {
      name: 'StorageUnreachable',
      message: new RegExp(`asked: ${gone}: [^;]*; ${gone}: [^;]*$`),
    })
  },
)

t.test(
  'of several servers that can not be asked each is told, or what stays so until it is mended',
  async t => {
    const coded = (message: string, code: string) => Object.assign(new Error(message), { code })
    const told = (...errors: readonly Error[]) =>
      toldOfEach(
        errors.map((error, index) => ({ url: `postgres://u:secret@s${index}:1/d?password=secret`, error })),
      )
    const refused = coded('connect ECONNREFUSED', 'ECONNREFUSED')
    const full = coded('sorry, too many clients already', '53300')
    t.match(told(refused, full), {
      message: /^s0:1: connect ECONNREFUSED: nothing answers [^;]*; s1:1: sorry, [^:]*: allow more there/,
      code: '53300',
    })
    t.notMatch(told(refused, full).message, /secret/)
    t.match(
      told(full),
      { message: /^sorry, too many clients already: allow more/, code: '53300' },
      'one alone',
    )
    t.notOk('code' in told(refused, new Error('Connection terminated')))
    const old = new OldPrimary({ system: '1', number: 1 }, { system: '1', number: 2 }, '/timeline')
    const refusedByPooler = new Error('unsupported startup parameter: options')
    for (const [lasting, kind] of [
      [old, OldPrimary],
      [new Pooled(), Pooled],
      [refusedByPooler, Pooled],
    ] as const) {
      t.ok(told(lasting, refused) instanceof kind, lasting.message)
      t.ok(told(refused, lasting) instanceof kind, lasting.message)
    }
  },
)

t.test('what fails at each address of a name has a reason', async t => {
  const each = ['connect EHOSTUNREACH 192.0.2.1:5432', 'connect ENETUNREACH 2001:db8::1:5432']
  const errors = each.map(message => new Error(message))
  const failed = Object.assign(new AggregateError(errors), { code: 'EHOSTUNREACH' })
  t.match(toldOf(failed), { message: each.join(', '), code: 'EHOSTUNREACH' })
})

t.test('whoever is not let in is told what mends it', { skip: without('postgres') }, async t => {
  const url = await newPostgresDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  t.teardown(() => client.end())
  await client.query("create role ann login password 'right'")
  const { rows } = await client.query<{ hba_file: string }>('show hba_file')
  const file = rows[0]!.hba_file
  writeFileSync(file, `host all ann all scram-sha-256\n${readFileSync(file, 'utf8')}`)
  await client.query('select pg_reload_conf()')
  const told = async (userinfo: string, database = new URL(url).pathname) => {
    const asked = `postgres://${userinfo}@${new URL(url).host}${database}`
    const refusal = await connectTo(createServers(asked), {}).catch(error => error)
    t.equal(refusal.name, 'StorageUnreachable')
    return refusal.message
  }
  await until('the rule', async () =>
    /asks for a password, and none was given: name a file/.test(await told('ann')),
  )
  t.match(
    await told('ann:wrong'),
    /authentication failed for user "ann": look at the password in password_file/,
  )
  t.match(await told('bob'), /role "bob" does not exist: let this user in .*create role/)
  t.match(await told('ann:right', '/nowhere'), /"nowhere" does not exist: make it \(create database\)/)
})

t.test(
  'node-postgres warns of no sslmode that it takes for verify-full, and what answers nothing is told',
  async t => {
    const warned: unknown[] = []
    const hear = (warning: unknown) => warned.push(warning)
    process.on('warning', hear)
    t.teardown(() => process.off('warning', hear))
    const nobody = await freePort('127.0.0.1')
    for (const mode of ['prefer', 'require', 'verify-ca']) {
      const servers = createServers(`postgres://u@127.0.0.1:${nobody}/d?sslmode=${mode}`)
      t.match(servers.url, /sslmode=verify-full$/)
      await t.rejects(connectTo(servers, {}), { message: /nothing answers at that address and port/ })
    }
    t.strictSame(warned, [])
    const compat = `postgres://u@127.0.0.1:${nobody}/d?uselibpqcompat=true&sslmode=require`
    t.equal(createServers(compat).url, compat)
  },
)

t.test('a server that stands still once it is connected to is given up', async t => {
  const server = createServer(socket => {
    socket.on('error', () => {})
    // AuthenticationOk, ReadyForQuery
    socket.once('data', () => socket.write(Buffer.from('R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I', 'latin1')))
    t.teardown(() => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  await t.rejects(connectTo(createServers(`postgres://u@127.0.0.1:${port}/d`), {}), {
    name: 'StorageUnreachable',
    message: /asked: no answer came in time, .* may be done all the same/,
  })
})

t.test('a certificate that is not believed is told with what mends it', async t => {
  const own = await writeCertificateFor(temporaryDir(t), ['db.example.com'])
  const secureContext = createSecureContext({ cert: readFileSync(own.cert), key: readFileSync(own.key) })
  const server = createServer(socket => {
    socket.on('error', () => {})
    t.teardown(() => socket.destroy())
    // The client asks for TLS, and the server says yes.
    socket.once('data', () => {
      socket.write('S')
      new TLSSocket(socket, { isServer: true, secureContext }).on('error', () => {}).resume()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const url = `postgres://u@127.0.0.1:${port}/d?sslmode=verify-full`
  await t.rejects(connectTo(createServers(url), {}), {
    name: 'StorageUnreachable',
    message: /signed by itself: .*&sslrootcert=\/etc\/mailboxd\/ca\.pem/,
  })
  await t.rejects(connectTo(createServers(`${url}&sslrootcert=${own.cert}`), {}), {
    name: 'StorageUnreachable',
    message: /name the server in the URL as its certificate does/,
  })
})

t.test('what a server or its certificate refuses is told without the advice of Node', async t => {
  const told = (code: string, message: string) => toldOf(Object.assign(new Error(message), { code })).message
  for (const code of ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'SELF_SIGNED_CERT_IN_CHAIN']) {
    const said = told(
      code,
      'unable to verify the first certificate; try running Node.js with --use-system-ca',
    )
    t.match(said, /^the certificate of the server is of a CA that is not known here: .*sslrootcert=/)
    t.notMatch(said, /Node|--use/)
  }
  t.match(told('CERT_HAS_EXPIRED', 'certificate has expired'), /renew it there/)
  t.match(
    told('53300', 'too many connections for database "mailboxd"'),
    /"mailboxd": .*max_connections.*postgres\.connections/,
  )
  t.match(told('28P01', 'password authentication failed for user "u"'), /or the role is not there/)
})
