import t from 'tap'
import { editDistance, nearestWord } from '../../lib/base/text.ts'
import { durationFault, durationMs } from '../../lib/config/duration.ts'
import { defaultBaseUrl, endpointFault, formatEndpoint, parseEndpoint } from '../../lib/config/endpoint.ts'
import { type FormatName, formats } from '../../lib/config/format.ts'

t.test('a duration is a whole number and one unit', async t => {
  const right: [string, number][] = [
    ['1ms', 1],
    ['30s', 30_000],
    ['5m', 300_000],
    ['90m', 5_400_000],
    ['2h', 7_200_000],
    ['5d', 432_000_000],
  ]
  for (const [text, ms] of right) {
    t.equal(durationMs(text), ms, text)
    t.equal(durationFault(text), undefined, text)
  }
  const wrong = [
    '',
    '5',
    'm',
    '0s',
    '05m',
    '5 m',
    ' 5m',
    '5m ',
    '5m\n',
    '-5m',
    '+5m',
    '1.5h',
    '1h30m',
    '5M',
    '5min',
    '1e3s',
    '٥m',
    '1w',
    '9999999999s',
  ]
  for (const text of wrong) {
    t.match(durationFault(text), /such as "30s"/, JSON.stringify(text))
    t.throws(() => durationMs(text), RangeError, JSON.stringify(text))
  }
})

t.test('an endpoint is an IP address and a port', async t => {
  const right: [string, string, number][] = [
    ['127.0.0.1:25', '127.0.0.1', 25],
    ['0.0.0.0:0', '0.0.0.0', 0],
    ['[::]:65535', '::', 65_535],
    ['[2001:db8::1]:2525', '2001:db8::1', 2525],
  ]
  for (const [text, host, port] of right) {
    t.strictSame(parseEndpoint(text), { host, port }, text)
    t.equal(formatEndpoint(parseEndpoint(text)), text)
    t.equal(endpointFault(text), undefined, text)
  }
  const wrong: [string, RegExp][] = [
    ['', /must be an IP address and a port/],
    ['25', /must be an IP address and a port/],
    ['127.0.0.1', /write "127\.0\.0\.1:25"/],
    ['::1', /write "\[::1\]:25"/],
    ['[::1]', /write "\[::1\]:25"/],
    [':25', /write "0\.0\.0\.0:25" .* "\[::\]:25"/],
    ['*:25', /write "0\.0\.0\.0:25" .* "\[::\]:25"/],
    ['localhost:25', /not a name/],
    ['mail.example.com:25', /not a name/],
    ['[127.0.0.1]:25', /must begin with an IP address/],
    ['127.0.0.256:25', /must begin with an IP address/],
    ['127.1:25', /must begin with an IP address/],
    ['[::1:25', /must begin with an IP address/],
    ['127.0.0.1:', /whole number from 0 to 65535/],
    ['127.0.0.1:smtp', /whole number from 0 to 65535/],
    ['127.0.0.1:65536', /whole number from 0 to 65535/],
    ['127.0.0.1:025', /whole number from 0 to 65535/],
    ['127.0.0.1:-1', /whole number from 0 to 65535/],
    ['127.0.0.1:25 ', /whole number from 0 to 65535/],
    [' 127.0.0.1:25', /must begin with an IP address/],
    ['http://127.0.0.1:25', /must begin with an IP address/],
  ]
  for (const [text, repair] of wrong) {
    t.match(endpointFault(text) ?? 'no fault', repair, JSON.stringify(text))
    t.throws(() => parseEndpoint(text), RangeError, JSON.stringify(text))
  }
})

t.test('the base address follows the first listener', async t => {
  const of = (text: string) => defaultBaseUrl(parseEndpoint(text), 'mail.example.com')
  t.equal(of('127.0.0.1:8025'), 'http://127.0.0.1:8025')
  t.equal(of('[::1]:80'), 'http://[::1]:80')
  t.equal(of('0.0.0.0:8025'), 'http://mail.example.com:8025')
  t.equal(of('[::]:8025'), 'http://mail.example.com:8025')
})

t.test('every other form takes what is right and repairs what is not', async t => {
  const label = 'a'.repeat(63)
  const right: [FormatName, string][] = [
    ['domain', 'mail.example.com'],
    ['domain', 'xn--exmple-cua.com'],
    ['domain', '3com.example'],
    ['domain', `${label}.${label}.example`],
    ['smarthost', 'smtp.example.net'],
    ['path', '/'],
    ['base-url', 'https://mail.example.com'],
    ['base-url', 'http://127.0.0.1:8025'],
    ['base-url', 'https://example.com/mail'],
    ['network', '10.0.0.0/8'],
    ['network', '::/0'],
    ['network', '192.0.2.1/32'],
    ['ip', '192.0.2.1'],
    ['ip', '2001:db8::1'],
    ['server', '127.0.0.1:53'],
    ['listener', '127.0.0.1:0'],
    ['key-prefix', 'mbx_'],
    ['key-prefix', 'their-service_live_'],
    ['key-prefix', 'x'.repeat(32)],
    ['domain', `${`${label}.`.repeat(3)}${'a'.repeat(61)}`],
    ['user', "Ann O'Neil"],
    ['user', 'x'.repeat(255)],
    ['domain-pattern', '*'],
    ['domain-pattern', 'example.com'],
    ['domain-pattern', '*.example.com'],
    ['postgres-url', 'postgres://mailboxd@db.example.com/mailboxd'],
    ['postgres-url', 'postgresql://mailboxd@a.example:5432/mailboxd?sslmode=verify-full'],
    ['postgres-url', 'postgres://mailboxd@/mailboxd?host=/run/postgresql'],
    ['bucket', 's3://abc'],
    ['bucket', `s3://${'a'.repeat(63)}/large/of.mail`],
    ['origin', '*'],
    ['origin', 'https://app.example.com'],
    ['origin', 'http://127.0.0.1:3000'],
    ['socket', `/${'a'.repeat(106)}`],
    ['socket', '127.0.0.1:3310'],
    ['spam-action', 'reject'],
    ['spam-action', 'add header'],
    ['name', 'x'],
    ['name', 'x'.repeat(255)],
    ['address', 'ops@example.net'],
    ['address', `${'x'.repeat(64)}@example.net`],
    ['duration', '5m'],
  ]
  for (const [format, text] of right) t.equal(formats[format].fault(text), undefined, `${format} ${text}`)

  const wrong: [FormatName, string, RegExp][] = [
    ['domain', '', /must be a host name/],
    ['domain', 'Mail.Example.COM', /must be written "mail\.example\.com"/],
    ['domain', 'mail.example.com.', /must be written "mail\.example\.com"/],
    ['domain', 'exämple.com', /must be written "xn--exmple-cua\.com"/],
    ['domain', 'localhost', /full name/],
    [
      'domain',
      '192.0.2.1',
      /not an IP address: write the name that leads there, such as "mail\.example\.com"/,
    ],
    ['domain', '[::1]', /not an IP address/],
    ['smarthost', 'localhost', /such as "smtp\.example\.net", .* whose A record is 127\.0\.0\.1$/],
    ['smarthost', '127.0.0.1', /such as "smtp\.example\.net", .* whose A record is 127\.0\.0\.1$/],
    ['smarthost', '::1', /such as "smtp\.example\.net"/],
    ['smarthost', 'Smtp.Example.NET', /must be written "smtp\.example\.net"/],
    ['domain', 'a..example.com', /must be a host name/],
    ['domain', '-a.example.com', /must be a host name/],
    ['domain', 'a_b.example.com', /must be a host name/],
    ['domain', 'mail.example.com\r\nX: y', /must be a host name/],
    ['domain', `${label}a.example`, /must be a host name/],
    ['domain', `${`${label}.`.repeat(4)}example`, /must be a host name/],
    ['domain', 'example.123', /must be a host name/],
    ['path', 'data', /absolute path/],
    ['path', '~/data', /neither "~"/],
    ['path', '', /absolute path/],
    ['path', '/a\0b', /NUL/],
    ['base-url', 'mail.example.com', /such as "https/],
    ['base-url', 'ftp://example.com', /such as "https/],
    ['base-url', 'https://', /such as "https/],
    ['base-url', 'https://example.com/', /must be written "https:\/\/example\.com"/],
    ['base-url', 'https://Example.com', /must be written "https:\/\/example\.com"/],
    ['base-url', 'https://example.com:443', /must be written "https:\/\/example\.com"/],
    ['base-url', 'https://u:p@example.com', /user name/],
    ['base-url', 'https://example.com?a', /"\?"/],
    ['network', '10.0.0.1', /write "10\.0\.0\.1\/32"/],
    ['network', '::1', /write "::1\/128"/],
    ['network', '10.0.0.0/33', /0 to 32/],
    ['network', '10.0.0.0/', /0 to 32/],
    ['network', '10.0.0.0/08', /0 to 32/],
    ['network', '::/129', /0 to 128/],
    ['network', 'example.com/8', /must be a network/],
    ['network', '10.0.0.0/8/8', /must be a network/],
    ['ip', '192.0.2.1:25', /IP address, without a port/],
    ['ip', 'eth0', /IP address/],
    ['server', '127.0.0.1:0', /port that the server answers on/],
    ['server', '127.0.0.1', /has no port/],
    ['key-prefix', '', /1 to 32/],
    ['key-prefix', 'a.b', /such as "mbx_"/],
    ['key-prefix', 'x'.repeat(33), /1 to 32/],
    ['domain', `${`${label}.`.repeat(3)}${'a'.repeat(62)}`, /must be a host name/],
    ['user', '', /1 to 255/],
    ['user', 'x'.repeat(256), /1 to 255/],
    ['user', 'a\tb', /control character/],
    ['user', 'a\x7f', /control character/],
    ['domain-pattern', '', /host name.*"\*\.example\.com" for all names below one/],
    ['domain-pattern', '*.*.example.com', /host name/],
    ['domain-pattern', '*example.com', /host name/],
    ['domain-pattern', '*.Example.com', /must be written "example\.com"/],
    ['postgres-url', 'db.example.com/mailboxd', /must be "postgres:\/\/user@server\/database"/],
    ['postgres-url', 'postgres://db.example.com/mailboxd', /must be "postgres:/],
    ['postgres-url', 'postgres://@db.example.com/mailboxd', /must be "postgres:/],
    ['postgres-url', 'postgres://mailboxd@db.example.com', /must be "postgres:/],
    ['postgres-url', 'postgres://mailboxd@db.example.com/', /must be "postgres:/],
    ['postgres-url', 'postgres://mailboxd@db.example.com/mail boxd', /must be "postgres:/],
    ['postgres-url', 'postgres://mailboxd@db.example.com/mailboxd#x', /must be "postgres:/],
    ['postgres-url', 'postgres://mailboxd:secret@db.example.com/mailboxd', /password_file/],
    ['postgres-url', 'postgres://mailboxd@db.example.com/mailboxd?password=x', /password_file/],
    ['postgres-url', 'postgres://mailboxd@a.example,/mailboxd', /must name one server/],
    ['postgres-url', 'postgres://mailboxd@a.example:5432,b.example/mailboxd', /must name one server/],
    ['postgres-url', 'postgres://mailboxd@/mailboxd?host=a.example,b.example', /several hosts/],
    ['bucket', 'abc', /must be "s3:\/\/"/],
    ['bucket', 's3://', /must be "s3:\/\/"/],
    ['bucket', 's3://ab', /too short \(ab\)/],
    ['bucket', 's3://ab/large', /too short \(ab\)/],
    ['bucket', `s3://${'a'.repeat(64)}`, /must be "s3:\/\/"/],
    ['bucket', 's3://-abc', /must be "s3:\/\/"/],
    ['bucket', 's3://Abc', /must be "s3:\/\/"/],
    ['bucket', 's3://abc/', /must be "s3:\/\/"/],
    ['bucket', 's3://abc//large', /must be "s3:\/\/"/],
    ['bucket', 's3://abc/../large', /must be "s3:\/\/"/],
    ['bucket', 's3://abc/large/.', /must be "s3:\/\/"/],
    ['origin', '', /must be "\*" or an origin/],
    ['origin', 'app.example.com', /must be "\*" or an origin/],
    ['origin', 'ftp://app.example.com', /must be "\*" or an origin/],
    ['origin', 'app:example', /must be "\*" or an origin/],
    ['origin', 'https://*.example.com/', /must be written "https:\/\/\*\.example\.com"/],
    ['origin', 'https://app.example.com/', /must be written "https:\/\/app\.example\.com"/],
    ['origin', 'https://App.example.com:443/in', /must be written "https:\/\/app\.example\.com"/],
    ['socket', `/${'a'.repeat(107)}`, /at most 107 bytes/],
    ['socket', `/${'ü'.repeat(54)}`, /at most 107 bytes/],
    ['socket', '/a\0b', /at most 107 bytes/],
    ['socket', 'run/clamd', /absolute path, or an IP address and a port/],
    ['socket', '127.0.0.1:0', /absolute path, or an IP address and a port/],
    ['spam-action', '', /must be one of "reject", "add header"/],
    ['spam-action', 'Reject', /must be one of "reject", "add header"/],
    ['name', '', /1 to 255/],
    ['name', 'x'.repeat(256), /1 to 255/],
    ['address', 'ops', /must be an email address/],
    ['address', '@example.net', /must be an email address/],
    ['address', `${'x'.repeat(65)}@example.net`, /must be an email address/],
    ['address', 'o ps@example.net', /must be an email address/],
    ['address', 'ops?@example.net', /must be an email address/],
    ['address', 'a@b@example.net', /must be an email address/],
    ['address', 'ops@localhost', /no domain that can be used after the "@": it must be a full name/],
    ['address', 'ops@Example.net', /it must be written "example\.net"/],
    ['listener', '25', /must be an IP address and a port/],
    ['duration', '5', /whole number above 0 and one unit/],
  ]
  for (const format of Object.keys(formats))
    for (const [table, what] of [
      [right, 'right'],
      [wrong, 'wrong'],
    ] as const)
      t.ok(
        table.some(([name]) => name === format),
        `${format}: something ${what} is asked`,
      )
  for (const [format, text, repair] of wrong) {
    const fault = formats[format].fault(text) ?? 'no fault'
    t.match(fault, repair, `${format} ${JSON.stringify(text)}`)
    t.notMatch(fault, /\n/)
  }
})

t.test('the nearest word is found, and nothing far', async t => {
  t.equal(editDistance('', ''), 0)
  t.equal(editDistance('', 'abc'), 3)
  t.equal(editDistance('kitten', 'sitting'), 3)
  t.equal(editDistance('smpt', 'smtp'), 1)
  t.equal(editDistance('ba', 'ab'), 1)
  const words = ['listen', 'max_size', 'max_recipients', 'level']
  t.equal(nearestWord('listne', words), 'listen')
  t.equal(nearestWord('maxSize', words), 'max_size')
  t.equal(nearestWord('MAX-SIZE', words), 'max_size')
  t.equal(nearestWord('colour', words), undefined)
  t.equal(nearestWord('', words), undefined)
  t.equal(nearestWord('listen'.repeat(10_000), words), undefined)
  t.equal(nearestWord('x', []), undefined)
})
