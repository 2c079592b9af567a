import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { createSecureContext, TLSSocket } from 'node:tls'
import pg from 'pg'
import t from 'tap'
import { outageOf } from '../../../lib/store/postgres/outage.ts'
import { connectAlone, withPlainMode } from '../../../lib/store/postgres/session.ts'
import { writeCertificateFor } from '../../support/certificate.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

const toldOf = (error: Error) => outageOf(error).cause as Error

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
    const refusal = await connectAlone(asked, 'test').catch(error => error)
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
      const url = `postgres://u@127.0.0.1:${nobody}/d?sslmode=${mode}`
      t.match(withPlainMode(url), /sslmode=verify-full$/)
      await t.rejects(connectAlone(url, 'test'), { message: /nothing answers at that address and port/ })
    }
    t.strictSame(warned, [])
    const compat = `postgres://u@127.0.0.1:${nobody}/d?uselibpqcompat=true&sslmode=require`
    t.equal(withPlainMode(compat), compat)
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
  await t.rejects(connectAlone(`postgres://u@127.0.0.1:${port}/d`, 'test'), {
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
  await t.rejects(connectAlone(url, 'test'), {
    name: 'StorageUnreachable',
    message: /signed by itself: .*&sslrootcert=\/etc\/mailboxd\/ca\.pem/,
  })
  await t.rejects(connectAlone(`${url}&sslrootcert=${own.cert}`, 'test'), {
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
