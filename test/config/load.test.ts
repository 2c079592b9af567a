import { chmod, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../lib/base/package-root.ts'
import { allSettings, allTables, isGroup, typeInWords } from '../../lib/config/declaration.ts'
import { describeConfig, exampleConfig, nearestSetting, printConfig } from '../../lib/config/describe.ts'
import { ConfigFault, configFaultExitCode, type Fault } from '../../lib/config/fault.ts'
import { type Config, configBytes, loadConfig, localConfig, parseConfig } from '../../lib/config/load.ts'

const required = 'hostname = "mail.example.com"\naccount_domain = "example.com"\n'

/** All faults of a file, with the settings that are required in front. */
function faultsOf(text: string, before = required): readonly Fault[] {
  try {
    parseConfig(before + text, 'test.toml')
  } catch (error) {
    if (error instanceof ConfigFault) return error.faults
    throw error
  }
  return []
}

/** The faults of the file at `path`, one line each. */
async function linesOf(path: string): Promise<string> {
  try {
    await loadConfig(path)
  } catch (error) {
    if (error instanceof ConfigFault) return error.message
    throw error
  }
  return ''
}

t.test('a file with what is required alone has the defaults', async t => {
  const config = parseConfig(required, 'test.toml')
  t.strictSame(config, {
    hostname: 'mail.example.com',
    account_domain: 'example.com',
    data_dir: '/var/lib/mailboxd',
    s3: {
      region: 'us-east-1',
      encryption: 'none',
      timeout: '30s',
      cache: 1_073_741_824,
    },
    min_free: 100 * 1024 * 1024,
    plan: 'pro',
    log: { level: 'info', format: 'auto' },
    smtp: {
      listen: ['0.0.0.0:25', '[::]:25'],
      max_size: 26_214_400,
      max_recipients: 100,
      threads: 0,
      max_connections: 500,
      max_connections_per_address: 50,
      max_connections_per_block: 100,
      connections_per_minute_per_address: 120,
      connections_per_minute_per_block: 600,
      messages_per_minute_per_address: 600,
      messages_per_minute_per_block: 1800,
      bytes_per_minute_per_address: 300_000_000,
      bytes_per_minute_per_block: 1_500_000_000,
      trusted_networks: [],
      greeting_delay: 0,
      session_timeout: '30m',
      data_timeout: '15m',
    },
    http: {
      listen: ['127.0.0.1:8025'],
      trusted_proxies: [],
      cors_origins: ['*'],
      requests_per_minute: 1000,
      max_connections: 5000,
      max_connections_per_address: 500,
      max_connections_per_block: 1000,
      header_timeout: '20s',
      request_timeout: '5m',
      write_timeout: '30s',
    },
    dns: { servers: [] },
    delivery: {
      mode: 'mx',
      port: 25,
      concurrency: 200,
      concurrency_per_destination: 20,
      allow_networks: [],
      give_up_after: '5d',
      public_addresses: [],
      route: [],
      tls_reports: false,
      ipv6: false,
    },
    metrics: { listen: [] },
    retention: { rule: [] },
    dkim: {},
    mta_sts: { mode: 'off', max_age: '7d' },
    tls: { certificate: [] },
    acme: { terms_agreed: false, names: [], listen: ['0.0.0.0:80', '[::]:80'] },
    reading: { threads: 0, timeout: '10s', memory: 192 * 1024 * 1024 },
    webhook: {
      retry: ['5s', '30s', '1m', '2m', '5m', '15m', '30m', '1h'],
      timeout: '15s',
      concurrency: 500,
      concurrency_per_endpoint: 20,
      allow_http: false,
      allow_networks: [],
    },
    events: { keep_for: '30d', prefer_websocket: false },
    idempotency: { required: true },
    policy: { refuse_with: 'drop', require_authenticated_sender: true },
    limits: {
      inbox_creations_per_day: 100,
      forward_confirmations_per_hour: 10,
      unverified_domains_per_pod: 20,
      inbox_is_new_for: '30d',
    },
    plan_free: {
      inboxes: 3,
      messages_per_month: 0,
      cold_recipients_at_first: 20,
      cold_recipients: 200,
      external_reply_to: false,
    },
    plan_developer: {
      inboxes: 25,
      messages_per_month: 0,
      cold_recipients_at_first: 20,
      cold_recipients: 200,
      external_reply_to: true,
    },
    postgres: { connections: 10 },
    plan_pro: {
      inboxes: 0,
      messages_per_month: 0,
      cold_recipients_at_first: 0,
      cold_recipients: 0,
      external_reply_to: true,
    },
    sending: { recipients_per_inbox_hour: 1000 },
    storage: { inbox_bytes: 0, pod_bytes: 5_000_000_000 },
    submission: { listen: [], listen_tls: [] },
    authentication: { check: true, dmarc_reject: 'refuse', trusted_arc_sealers: [] },
    keys: { prefix: 'mbx_' },
    greylist: { enabled: false, delay: '1m', keep_for: '36d' },
    dns_lists: { zones: [], action: 'refuse' },
    scanner: {
      rspamd_spam_actions: ['reject', 'add header'],
      timeout: '10s',
      max_message_size: 26_214_400,
      tell_malicious: false,
    },
  } satisfies Config)
})

t.test('local mode is loopback and capture, and needs no file', async t => {
  const config = localConfig({ dataDir: 'some/where' })
  t.equal(config.data_dir, resolve('some/where'))
  t.equal(localConfig().data_dir, resolve('mailboxd-data'))
  t.same(config.smtp.listen, ['127.0.0.1:2525'])
  t.same(config.http.listen, ['127.0.0.1:8025'])
  t.equal(config.account_domain, 'mailboxd.localhost')
  t.equal(config.delivery.mode, 'capture')
  t.equal(config.authentication.check, false)
  t.equal(config.idempotency.required, true)
})

t.test('a configuration is frozen throughout, and no two share a part', async t => {
  for (const config of [localConfig(), parseConfig(required, 'test.toml')]) {
    for (const part of [config, config.smtp, config.smtp.listen, config.dns.servers])
      t.ok(Object.isFrozen(part))
    t.throws(() => Object.assign(config.smtp, { max_size: 1 }), TypeError)
  }
  t.not(localConfig().smtp.listen, localConfig().smtp.listen)
})

t.test('what is printed loads again to the same', async t => {
  const full = `base_url = "https://mail.example.com"
data_dir = "/srv/ünï \\"x\\"\\\\"
smtp = { listen = ["127.0.0.1:0", "[::1]:0"], max_size = 0x10000 }
http.trusted_proxies = ["10.0.0.0/8"]
delivery.source_address = "2001:db8::1"
delivery.ipv6 = true
delivery.mode = "capture"
dns.servers = ["127.0.0.1:53"]
log.level = "silent"
acme = { directory = "https://ca.example/d", terms_agreed = true, contact = "a@b.example" }
[[tls.certificate]]
certificate = "/c.pem"
key = "/k.pem"
[[tls.certificate]]
certificate = "/d.pem"
key = "/l.pem"
`
  for (const config of [localConfig(), parseConfig(required, 'a'), parseConfig(required + full, 'b')]) {
    t.strictSame(parseConfig(printConfig(config), 'printed'), config)
  }
  t.match(printConfig(parseConfig(required + full, 'b')), /^max_size = 65536$/m)
})

t.test('the example file is that of the schema; it loads, and with every line taken in too', async t => {
  const path = join(packageRoot(), 'config/mailboxd.example.toml')
  t.equal(await readFile(path, 'utf8'), exampleConfig(), 'write it again with exampleConfig()')
  const { hostname, ...defaults } = await loadConfig(path)
  t.equal(hostname, 'mail.example.com')
  t.strictSame({ ...defaults, hostname }, parseConfig(required, 'test.toml'))

  const taken = exampleConfig().replace(/^#(?=\w+ = |\[)/gm, '')
  const whole = parseConfig(taken.replace('terms_agreed = false', 'terms_agreed = true'), 'example')
  const { base_url, ...settings } = whole
  t.equal(base_url, 'https://mail.example.com')
  t.strictSame(settings.tls.certificate, [
    { certificate: '/etc/mailboxd/tls/fullchain.pem', key: '/etc/mailboxd/tls/privkey.pem' },
  ])
  t.equal(settings.delivery.source_address, '192.0.2.1')
  for (const line of exampleConfig().split('\n')) t.ok(line.length <= 120, line)
})

t.test('every setting is described, with its type, meaning and default', async t => {
  const text = describeConfig() ?? ''
  for (const { path, declaration, meaning, isRequired } of allSettings) {
    const [, section = ''] = text
      .split(`\n\n`)
      .map(one => `${one}\n`)
      .filter(one => one.startsWith(`${path}\n`))
      .concat('')
      .reverse()
    t.ok(section.replace(/\s+/g, ' ').includes(typeInWords(declaration)), `${path}: type`)
    t.ok(meaning.length > 20 && meaning.endsWith('.'), `${path}: meaning`)
    t.ok(section.replace(/\s+/g, ' ').includes(meaning), `${path}: meaning is said`)
    t.equal(section.includes('; required'), isRequired, `${path}: required`)
    t.equal(section.includes('; default'), declaration.default !== undefined, `${path}: default`)
  }
  for (const about of allTables.map(({ name }) => name)) {
    const own = allSettings.filter(one => one.path.startsWith(`${about}.`)).map(one => one.path)
    const told = describeConfig(about) ?? ''
    t.ok(told.startsWith(`[${about}]`), `${about}: its own table first`)
    t.strictSame(
      told.split('\n').filter(line => /^[a-z_.0-9]+$/.test(line)),
      own,
      `${about}: what is in it, and nothing else`,
    )
    t.ok(text.includes(told.trimEnd()))
  }
  t.match(
    describeConfig('hostname'),
    /^hostname\n {4}host name; required; [^\n]+\n {4}This server's own name/,
  )
  for (const { path, declaration } of allSettings) {
    const { items } = declaration
    if (items === undefined || !isGroup(items)) continue
    for (const [name, { description }] of Object.entries(items.properties)) {
      const [told, shown] = [describeConfig(path) ?? '', exampleConfig().replaceAll('#   ', '')].map(text =>
        text.replace(/\s+/g, ' '),
      )
      t.ok(told?.includes(`${name}: ${description}`), `${path}: ${name} in a table of the list is described`)
      t.ok(shown?.includes(`${name}: ${description}`), `${path}: ${name}, in the example, too`)
    }
  }
  const route = describeConfig('delivery.route') ?? ''
  t.match(
    route,
    /\n {6}\[\[delivery\.route\]\]\n {6}domains = .*\n {6}host = /,
    'how a table of a list is written',
  )
  t.match(route.replace(/\s+/g, ' '), /port \(whole number from 1 to 65535\)/)
  t.equal(describeConfig('delivery.route.host'), route, 'what stands in it')
  t.equal(describeConfig('smtp.max_siz'), undefined)
  t.equal(describeConfig(''), undefined)
  t.equal(nearestSetting('smtp.max_siz'), 'smtp.max_size')
  t.match(text, /smtp\.max_size\n {4}whole number from 65536 to 104857600 \(bytes\); default 26214400\n/)
})

t.test('ten faults give ten lines', async t => {
  const path = join(t.testdir(), 'ten.toml')
  await writeFile(
    path,
    `hostnam = "mail.example.com"
account_domain = "Example.com"
data_dir = "data"
[smtp]
listen = ["localhost:25"]
max_size = "25MB"
session_timeout = "5"
[[tls.certificate]]
certificate = "/etc/cert.pem"
[delivery]
mode = "relay"
give_up_after = "31d"
`,
  )
  const lines = (await linesOf(path)).split('\n')
  t.equal(lines.length, 10)
  const paths = lines.map(line => {
    t.ok(line.startsWith(`${path}: `), line)
    return line.slice(path.length + 2).split(': ')[0]
  })
  t.strictSame(paths.sort(), [
    'account_domain',
    'data_dir',
    'delivery.give_up_after',
    'delivery.mode',
    'hostnam',
    'hostname',
    'smtp.listen[0]',
    'smtp.max_size',
    'smtp.session_timeout',
    'tls.certificate[0].key',
  ])
  t.equal(configFaultExitCode, 78)
})

t.test('each kind of fault is said with its path and its repair', async t => {
  const cases: [text: string, path: string, message: RegExp][] = [
    // unknown
    ['smtp.max_sise = 1', 'smtp.max_sise', /did you mean max_size\?/],
    ['smpt.max_size = 1', 'smpt', /did you mean smtp\?/],
    ['maxSize = 1', 'maxSize', /did you mean max_size, in \[smtp\]\?/],
    ['max_size = 1', 'max_size', /belongs in \[smtp\]/],
    ['listen = []', 'listen', /belongs in \[smtp\] or in \[submission\] or in \[acme\]/],
    ['[log]\nbase_url = "x"', 'log.base_url', /belongs above the first \[table\]/],
    ['colour = 1', 'colour', /config describe/],
    ['__proto__ = 1', '__proto__', /not a setting/],
    ['smtp.__proto__.x = 1', 'smtp.__proto__', /not a setting/],
    ['constructor = 1', 'constructor', /not a setting/],
    ['toString.x = 1', 'toString', /not a setting/],
    ['"a\\u001b[31mb" = 1', '"a\\u001b[31mb"', /not a setting/],
    // types
    ['smtp.max_size = "25MB"', 'smtp.max_size', /"25MB" must be a whole number .*bytes.*without quotes/],
    ['smtp.max_size = 1e6', 'smtp.max_size', /^$/],
    ['smtp.max_size = 65536.5', 'smtp.max_size', /65536\.5 must be a whole number/],
    ['smtp.max_size = inf', 'smtp.max_size', /Infinity must be a whole number/],
    ['smtp.max_size = nan', 'smtp.max_size', /NaN must be a whole number/],
    ['smtp.session_timeout = 300', 'smtp.session_timeout', /300 must be a text in quotes \(duration/],
    ['delivery.ipv6 = "yes"', 'delivery.ipv6', /"yes" must be true or false, without quotes/],
    ['delivery.ipv6 = 1', 'delivery.ipv6', /1 must be true or false/],
    ['smtp.listen = "[::]:25"', 'smtp.listen', /must be a list .*: write \["\[::\]:25"\]/],
    ['smtp.listen = [25]', 'smtp.listen[0]', /25 must be a text in quotes/],
    ['smtp.listen = [["127.0.0.1:25"]]', 'smtp.listen[0]', /a list must be a text/],
    ['smtp = 5', 'smtp', /5 must be a table: write \[smtp\]/],
    ['[[smtp]]', 'smtp', /a list must be a table/],
    ['smtp = 2026-01-01', 'smtp', /must be a table/],
    ['log.level = 2026-01-01', 'log.level', /a date must be one of/],
    ['base_url = {}', 'base_url', /a table must be a text/],
    ['delivery.mode = {}', 'delivery.mode', /a table must be one of/],
    // values
    ['log.level = "inf"', 'log.level', /one of .*"info".*did you mean "info"\?/],
    ['delivery.mode = "smarthost"', 'delivery.mode', /one of "mx", "capture"$/],
    ['smtp.max_size = 65535', 'smtp.max_size', /65535 must be a whole number from 65536/],
    ['smtp.max_size = 104857601', 'smtp.max_size', /to 104857600/],
    ['smtp.max_recipients = 0', 'smtp.max_recipients', /0 must be/],
    ['smtp.max_recipients = -1', 'smtp.max_recipients', /-1 must be/],
    ['delivery.port = 65536', 'delivery.port', /65535/],
    ['smtp.session_timeout = "5"', 'smtp.session_timeout', /"5" must be .*such as "30s"/],
    ['smtp.session_timeout = "999ms"', 'smtp.session_timeout', /duration from 1s to 1d/],
    ['smtp.session_timeout = "25h"', 'smtp.session_timeout', /duration from 1s to 1d/],
    ['smtp.session_timeout = "24h"', 'smtp.session_timeout', /^$/],
    ['smtp.listen = []', 'smtp.listen', /at least one/],
    ['smtp.listen = ["[::1]:25", "[::1]:25"]', 'smtp.listen', /"\[::1\]:25" twice/],
    ['dns.servers = ["127.0.0.1"]', 'dns.servers[0]', /has no port/],
    ['http.trusted_proxies = ["::/0", "10.0.0.1"]', 'http.trusted_proxies[1]', /10\.0\.0\.1\/32/],
    ['greylist.delay = 60', 'greylist.delay', /60 must be a text in quotes .* with its unit: write "60s"/],
    [
      'scanner.rspamd_url = "127.0.0.1:11333"',
      'scanner.rspamd_url',
      /such as "http:\/\/127\.0\.0\.1:11333"$/,
    ],
    [
      'scanner.rspamd_url = "ftp://a.example"',
      'scanner.rspamd_url',
      /must begin with "https:\/\/" or "http:\/\/"/,
    ],
    // settings of former days
    [
      'smtp.tls_certificate = "/x"',
      'smtp.tls_certificate',
      /is now certificate in a table \[\[tls\.certificate\]\]/,
    ],
    ['smtp.tls_key = "/x"', 'smtp.tls_key', /is now key in a table \[\[tls\.certificate\]\]/],
    // between settings
    ['acme.terms_agreed = true', 'acme.directory', /is missing, and ACME is off without it: add/],
    ['acme.contact = "a@b.example"', 'acme.directory', /is missing/],
    ['acme.names = ["a.example"]', 'acme.directory', /is missing/],
    ['[acme]', 'acme.directory', /^$/],
    [
      'scanner.rspamd_url = "http://127.0.0.1:11333/checkv2"',
      'scanner.rspamd_url',
      /adds by itself: write "http:\/\/127\.0\.0\.1:11333"$/,
    ],
    ['acme.directory = "https://ca.example/d"', 'acme.terms_agreed', /must be true for certificates from/],
    ['acme = { directory = "http://ca.example", terms_agreed = true }', 'acme.directory', /https:/],
    [
      'acme = { directory = "https://ca.example", terms_agreed = true }\nhttp.listen = ["127.0.0.1:80"]',
      'acme.listen[0]',
      /port of "127\.0\.0\.1:80" in http\.listen\[0\]/,
    ],
    ['http.listen = ["127.0.0.1:80"]', '', /^$/],
    ['delivery.source_address = "::1"', 'delivery.source_address', /set ipv6 = true/],
    ['http.listen = ["127.0.0.1:25"]', 'http.listen[0]', /port of "0\.0\.0\.0:25" in smtp\.listen\[0\]/],
    ['smtp.listen = ["[::1]:25", "[::]:25"]', 'smtp.listen[1]', /port of "\[::1\]:25"/],
    ['smtp.listen = ["127.0.0.1:0"]\nhttp.listen = ["127.0.0.1:0"]', '', /^$/],
    ['smtp.listen = ["127.0.0.1:25"]\nhttp.listen = ["127.0.0.2:25"]', '', /^$/],
    // a list of tables
    ['[[tls.certificate]]\nkey = "/k"', 'tls.certificate[0].certificate', /missing.* certificate = "\/etc\//],
    ['[[tls.certificate]]\nkey = 5\ncertificate = "/c"', 'tls.certificate[0].key', /5 must be a text/],
    [
      '[[tls.certificate]]\nkey = "/k"\ncertificate = "/c"\nkeys = 1',
      'tls.certificate[0].keys',
      /did you mean key\?/,
    ],
    [
      '[tls.certificate]\nkey = "/k"',
      'tls.certificate',
      /a table must be .*: write \[\[tls\.certificate\]\]/,
    ],
    ['tls.certificate = "/c"', 'tls.certificate', /write \[\[tls\.certificate\]\]/],
    ['acme.contact = "a@b"', 'acme.contact', /no domain that can be used/],
    ['acme.contact = "a?subject=x@b.example"', 'acme.contact', /must be an email address/],
    ['acme.names = ["*.example.com"]', 'acme.names[0]', /must be a host name/],
  ]
  for (const [text, path, message] of cases) {
    const faults = faultsOf(text)
    if (message.source === '^$') {
      t.strictSame(faults, [], text)
    } else {
      t.strictSame(
        faults.map(fault => fault.path),
        [path],
        text,
      )
      t.match(faults[0]?.message, message, text)
      t.notMatch(faults[0]?.message, /[\n\r]|undefined|null/, text)
    }
  }
  t.match(faultsOf('', ''), [
    { path: 'hostname', message: /missing.*hostname = "mail\.example\.com"/ },
    { path: 'account_domain', message: /missing.*account_domain = "example\.com"/ },
  ])
  const long = faultsOf(`hostname = "${'x'.repeat(10_000)}"`, 'account_domain = "example.com"\n')
  t.ok((long[0]?.message.length ?? 0) < 300, 'a long value is cut short')
  for (const url of [
    'postgres://mailboxd:geheim@db.example.com/mailboxd',
    'postgres://mailboxd:ge@geheim@db.example.com/mailboxd',
    'postgres://mailboxd@db.example.com/mailboxd?password=geheim',
    `postgres://mailboxd:geheim${'x'.repeat(100)}@db.example.com/mailboxd`,
  ]) {
    const [told] = faultsOf(`database = "${url}"`)
    t.match(told, { path: 'database', message: /must not contain a password|must be "postgres:/ }, url)
    t.notMatch(told?.message, /geheim/)
  }
  const many = JSON.stringify(Array.from({ length: 101 }, (_, i) => `127.0.0.1:${i + 1}`))
  t.match(faultsOf(`dns.servers = ${many}`), [{ path: 'dns.servers', message: /more than 100/ }])
})

t.test('faults of TOML have line and column', async t => {
  for (const [text, message] of [
    [
      '[smtp]\nmax_size = 1000000\n[http]\n[ smtp ] # again\n',
      /^is not valid TOML: the table \[smtp\] stands twice\. Put the lines under the first, in line 3, and take this one out$/,
    ],
    ['base_url = “https://mail.ours.example”\n', /a typographic quote stands in this line.*straight one/],
    ['blobs = "s3://x"\n', /too short \(x\): it has 3 to 63 characters/],
    ['base_url = "https://a.example\nx = 1\n', /a text in quotes is not closed: write the quote/],
    ["base_url = 'https://a.example", /a text in quotes is not closed: write/],
    ['base_url = "https://a\\u0001b.example\u0001"\n', /control characters are not allowed/],
    ['base_url: "https://mail.ours.example"\n', /written with "=", and no colon: base_url = …$/],
    ['smtp.require_tls = True\n', /True is written true, in small letters/],
    ['x = true\nx = true # again\n', /already defined/],
    ['x = no # not\n', /no is written false/],
    ['smtp.max_size = 25M\n', /25M is no number: .* all its digits$/],
    ['http.listen = [0.0.0.0:8025]\n', /an address is a text in quotes: \["0\.0\.0\.0:8025"\]$/],
    ['http.listen = [[::]:8025]\n', /an address is a text in quotes: \["\[::\]:8025"\]$/],
    ['// a comment\n', /a comment begins with "#"$/],
    ['[smtp] max_size = 1\n', /the header of a table has a line of its own/],
    ['base_url = "https://a.example"\nbase_url = "https://b.example"\n', /already defined/],
  ] as const) {
    t.match(faultsOf(text), [{ message }], text)
  }
  t.match(faultsOf('a = \n'), [{ path: 'line 3, column 5', message: /^is not valid TOML: / }])
  t.match(faultsOf('[smtp\n'), [{ path: /^line 3, column \d+$/ }])
  t.match(faultsOf('hostname = "again"'), [{ path: 'line 3, column 1', message: /already defined/ }])
  t.match(faultsOf('smtp.max_size = 99999999999999999999'), [{ path: /^line 3/ }])
  t.match(faultsOf(`a = ${'['.repeat(100_000)}`), [{ path: /^line 3/, message: /^is not valid TOML/ }])
  for (const { message } of faultsOf('x = "\\q"')) t.notMatch(message, /\n/)
})

t.test('faults of the file itself', async t => {
  const dir = t.testdir({ 'secret.toml': required, 'latin1.toml': '', 'large.toml': '', directory: {} })
  const file = (name: string) => join(dir, name)
  await symlink('loop.toml', file('loop.toml'))
  await writeFile(file('latin1.toml'), Buffer.from(`${required}# \xfc\n`, 'latin1'))
  await writeFile(file('large.toml'), '#'.repeat(configBytes + 1))
  await writeFile(file('full.toml'), required.padEnd(configBytes, '#'))
  await writeFile(file('bom.toml'), `\ufeff${required.replaceAll('\n', '\r\n')}`)

  t.equal(
    await linesOf(file('none')),
    `${file('none')}: does not exist: let mailboxctl setup write it, or begin with a copy of mailboxd.example.toml`,
  )
  t.match(await linesOf(file('secret.toml/x')), /a part of its path is not a directory/)
  t.match(await linesOf(file('directory')), /is a directory/)
  t.match(await linesOf(file('loop.toml')), /leads to itself/)
  t.match(await linesOf('/'.padEnd(5000, 'x')), /too long/)
  t.match(await linesOf(file('latin1.toml')), /is not UTF-8 text/)
  t.match(await linesOf(file('large.toml')), /is larger than 262144 bytes/)
  t.equal(await linesOf(file('full.toml')), '')
  t.equal(await linesOf(file('bom.toml')), '')
  t.match(await linesOf('/dev/zero'), /is larger than/, 'an endless file is not read to its end')

  await chmod(file('secret.toml'), 0)
  // Root may read everything, so it asks as nobody.
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    t.match(await linesOf(file('secret.toml')), /secret\.toml: may not be read by this user/)
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

t.test('the reserved names are names, and have those that must be there', async t => {
  const text = await readFile(join(packageRoot(), 'config/reserved-names.txt'), 'utf8')
  const names = text.split('\n').filter(line => line !== '' && !line.startsWith('#'))
  for (const name of names) t.match(name, /^[a-z0-9][a-z0-9._-]{1,28}[a-z0-9]$/, name)
  t.equal(new Set(names).size, names.length, 'none stands there twice')
  const must =
    'postmaster abuse hostmaster webmaster admin administrator root mailer-daemon noreply no-reply bounces dmarc-reports tls-reports security'
  for (const name of must.split(' ')) t.ok(names.includes(name), name)
})
