import { statfsSync } from 'node:fs'
import t, { type Test } from 'tap'
import { databaseFindings, selfSignedFindings, serverFindings } from '../../lib/cli/server-findings.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { writeCertificate } from '../support/certificate.ts'
import { writeExpiredCertificate } from '../support/expired-certificate.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

async function codesOf(t: Test, { top = '', more = '' }): Promise<string[]> {
  const text = `hostname = "mail.ours.example"
account_domain = "ours.example"
data_dir = "${temporaryDir(t)}"
${top}
${more}`
  const found = await serverFindings(parseConfig(text, 'test'))
  for (const { message } of found) t.notMatch(message, /\n/, 'one line')
  return found.map(({ level, code }) => `${level} ${code}`)
}

t.test('what of the configuration loses mail is told at the start, in a line each', async t => {
  const { cert, key } = await writeCertificate(temporaryDir(t), 'mail.ours.example')
  const other = await writeCertificate(temporaryDir(t), 'somebody-else.example')
  const withTls = (files: typeof other) =>
    `[[tls.certificate]]\ncertificate = "${files.cert}"\nkey = "${files.key}"\n`
  const sound = { top: 'min_free = 0\nbase_url = "https://mail.ours.example"', more: withTls({ cert, key }) }
  t.strictSame(await codesOf(t, sound), [])
  t.strictSame(await codesOf(t, { ...sound, more: '' }), ['warning certificate_self_signed'])
  t.strictSame(await codesOf(t, { ...sound, top: 'min_free = 0' }), ['warning base_url_missing'])
  t.strictSame(
    await codesOf(t, { top: 'min_free = 0', more: '[delivery]\nmode = "capture"' }),
    [],
    'a laboratory',
  )
  const { bavail, bsize } = statfsSync(temporaryDir(t))
  for (const [most, told] of [
    [2 ** 40, 'error disk_full'],
    [Math.floor(bavail * bsize * 0.7), 'warning disk_nearly_full'],
  ] as const) {
    const top = sound.top.replace('min_free = 0', `min_free = ${most}`)
    t.strictSame(await codesOf(t, { ...sound, top }), [told])
  }
  t.strictSame(await codesOf(t, { ...sound, more: withTls(other) }), ['warning certificate'])
  const expired = await writeExpiredCertificate(temporaryDir(t), 'mail.ours.example')
  t.strictSame(await codesOf(t, { ...sound, more: withTls(expired) }), ['error certificate'])
  t.strictSame(
    await codesOf(t, {
      top: 'min_free = 0\nbase_url = "http://mail.ours.example"',
      more: `[http]\nlisten = ["0.0.0.0:8025"]\n${withTls({ cert, key })}`,
    }),
    ['warning api_without_tls'],
  )
  for (const [url, told] of [
    ['http://mail.ours.example', ['warning api_without_tls']],
    ['http://127.0.0.1:8025', []],
    ['http://localhost:8025', []],
  ] as const) {
    const top = `min_free = 0\nbase_url = "${url}"`
    t.strictSame(await codesOf(t, { ...sound, top }), told, url)
  }
})

t.test('what is to be added is called by its name: in the log nothing stands below the sentence', t => {
  const config = parseConfig(
    'hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "/nowhere"',
    'test',
  )
  const [found] = selfSignedFindings(config)
  t.match(found?.message, /add the table \[acme\] to the configuration \(mailboxctl doctor shows it\)/)
  t.match(found?.paste, /^\[acme\]\n/)
  t.end()
})

t.test('a database on another machine is to be asked over TLS', t => {
  const config = (database: string) =>
    parseConfig(
      `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "/nowhere"\ndatabase = "${database}"`,
      'test',
    )
  for (const [database, paste] of [
    ['postgres://m@db.example.com/m', 'database = "postgres://m@db.example.com/m?sslmode=verify-full"'],
    [
      'postgres://m@192.0.2.1:5433/m?port=1',
      'database = "postgres://m@192.0.2.1:5433/m?port=1&sslmode=verify-full"',
    ],
    [
      'postgres://m@/m?host=db.example.com',
      'database = "postgres://m@/m?host=db.example.com&sslmode=verify-full"',
    ],
    ['postgres://m@db.example.com/m?sslmode=verify-full', undefined],
    [
      'postgres://m@db.example.com/m?sslmode=disable&port=1',
      'database = "postgres://m@db.example.com/m?port=1&sslmode=verify-full"',
    ],
    [
      'postgres://m@db.example.com/m?port=1&sslmode=no-verify',
      'database = "postgres://m@db.example.com/m?port=1&sslmode=verify-full"',
    ],
    [
      'postgres://m@db.example.com/m?uselibpqcompat=true&sslmode=require',
      'database = "postgres://m@db.example.com/m?sslmode=verify-full"',
    ],
    [
      'postgres://m@db.example.com/m?sslmode=require',
      'database = "postgres://m@db.example.com/m?sslmode=verify-full"',
    ],
    ['postgres://m@127.0.0.1/m?sslmode=disable', undefined],
    ['postgres://m@127.0.0.1:5432/m', undefined],
    ['postgres://m@[::1]:5433/m', undefined],
    ['postgres://m@[::1]/m', undefined],
    ['postgres://m@localhost/m', undefined],
    ['postgres://m@%2Fvar%2Frun%2Fpostgresql/m', undefined],
    ['postgres://m@/m?host=/var/run/postgresql', undefined],
  ] as const) {
    const found = databaseFindings(config(database))
    t.strictSame(
      found.map(one => one.paste),
      paste === undefined ? [] : [paste],
      database,
    )
  }
  t.end()
})

t.test('what does not verify the server of the database is told by its value', t => {
  const found = (query: string) =>
    databaseFindings(
      parseConfig(
        `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndatabase = "postgres://m@db.example.com/m?${query}"`,
        'test',
      ),
    ).map(({ level, message }) => `${level} ${message}`)
  t.match(found('sslmode=disable'), [/^warning .*with sslmode=disable nothing .* is encrypted/])
  t.match(found('sslmode=no-verify'), [/^warning .*with sslmode=no-verify nobody there has to prove/])
  const compat = 'uselibpqcompat=true'
  t.match(found(`${compat}&sslmode=prefer&sslrootcert=/ca`), [/^warning .*sslmode=prefer nobody/])
  t.match(found(`${compat}&sslmode=require`), [/^warning .*sslmode=require nobody/])
  t.match(found(`${compat}&sslmode=verify-ca&sslrootcert=/ca`), [/^warning .*of that CA is believed/])
  t.match(found('sslmode=require'), [/^hint sslmode=require is taken for verify-full/])
  for (const [query, told] of [
    ['sslmode=verifyfull', /sslmode=verifyfull, which must be one of/],
    ['sslmode=', /sslmode=, which must be one of/],
    ['sslmod=verify-full', /the parameter "sslmod", which is none of/],
    ['bogus=5', /the parameter "bogus", which is none of/],
    ['sslmode=verify-full&sslmode=disable', /"sslmode" twice/],
    [`${compat}&sslmode=verify-ca`, /needs sslrootcert/],
  ] as const)
    t.throws(() => found(query), { message: told }, query)
  t.end()
})
