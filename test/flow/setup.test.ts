import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../lib/config/load.ts'
import { builtProgram } from '../support/built.ts'
import { callCtl } from '../support/called-ctl.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test(
  'setup writes the configuration, makes key and inbox, and prints the DNS; again it keeps them',
  async t => {
    const file = join(temporaryDir(t), 'mailboxd.toml')
    const setup = (...args: string[]) => callCtl(dirname(file), '--config', file, ...args)
    const local = await callCtl(dirname(file), '--data', dirname(file), 'setup', '--domain', 'ours.example')
    t.match(local, {
      code: 2,
      stderr: /^error: --data is of local mode, which needs no setup: say with --config/,
    })
    const unsaid = await setup('setup', '--domain', 'ours.example')
    t.equal(unsaid.code, 2)
    t.match(unsaid.stderr, /without a terminal to ask on, give --hostname/)
    const said = ['setup', '--domain', 'ours.example', '--hostname', 'mail.ours.example']
    t.equal(
      (await setup(...said, '--acme', 'https://ca.test/directory')).code,
      2,
      'terms are agreed to by nobody else',
    )

    const none = await setup(...said, '--certificate', 'none.pem')
    t.match(none, {
      code: 78,
      stderr: /tls\.certificate\[0\]\.certificate: \/\S+\/none\.pem can not be read: ENOENT/,
    })
    t.notOk(existsSync(file), 'what would keep mailboxd from its start is not written')
    const short = await setup(...said, '--inbox', 'a')
    t.match(short, { code: 1, stderr: /A mailbox name has 3 to 30 characters/ })
    t.notOk(existsSync(file), 'nor is anything, where the inbox can not be made')

    const urls = ['--base-url', 'https://api.ours.example/', '--operator-address', 'ops@example.net']
    const first = await setup(...said, ...urls, '--acme', 'https://ca.test/directory', '--agree-to-terms')
    t.equal(first.code, 0, first.stderr)
    t.equal(statSync(file).mode & 0o007, 0, 'strangers do not read it')
    const config = parseConfig(readFileSync(file, 'utf8'), file)
    t.match(config, {
      hostname: 'mail.ours.example',
      account_domain: 'ours.example',
      base_url: 'https://api.ours.example',
      operator_address: 'ops@example.net',
      acme: { directory: 'https://ca.test/directory', terms_agreed: true },
    })
    t.match(first.stdout, /^inbox {3}hello@ours\.example$/m)
    t.match(first.stdout, /^(; )?mail\.ours\.example\. 3600 IN A .+$/m)
    t.match(first.stdout, /^ {2}type {6}A\n {2}name {6}mail\.ours\.example\n {2}value {5}.+$/m)
    t.match(first.stdout, /^key {5}mbx_\w+ {2}\(shown this once\)$/m)
    t.match(first.stdout, /^ours\.example\. 3600 IN MX 10 mail\.ours\.example\.$/m)
    t.match(first.stdout, /^ {2}value {5}v=DKIM1; k=rsa; p=[\w+/=]{300,}$/m, 'a key in one piece, for a form')

    const records = await setup('domain', 'records')
    t.equal(records.code, 0, records.stderr)
    t.match(
      records.stdout,
      /^(; )?mail\.ours\.example\. 3600 IN A /,
      'without which no other host finds this one',
    )
    t.ok(first.stdout.includes(`\n\n${records.stdout}\n`), 'the same list')

    if (process.getuid?.() === 0) {
      const others = temporaryDir(t)
      chmodSync(others, 0o755)
      mkdirSync(join(others, 'data'), { mode: 0o700 })
      chownSync(join(others, 'data'), 65_534, 65_534)
      const config = join(others, 'mailboxd.toml')
      const ofNobody = await runProgram(process.execPath, [
        builtProgram('mailboxctl'),
        '--config',
        config,
        ...said,
      ])
      t.match(ofNobody.stderr, '')
      t.match(
        ofNobody.stdout,
        `Wrote ${config}. mailboxd was not started: the service of systemd is for /etc/mailboxd/mailboxd.toml alone. Start it with: runuser -u nobody -- mailboxd --config ${config}\n\ndata    ${join(others, 'data')}\ninbox   hello@ours.example\n`,
      )
    }
    const again = await setup(...said)
    t.equal(again.code, 0, again.stderr)
    t.match(again.stdout, /Kept .*mailboxd\.toml/)
    t.match(again.stdout, `there is one already; mailboxctl --config ${file} key create makes another`)
    t.match(again.stdout, `(mailboxctl --config ${file} tls list)`)
    t.match(again.stdout, `Then: mailboxctl --config ${file} dns check --wait`)
    t.notMatch(again.stdout, /certificate_self_signed/, 'a CA gives it')
    const late = await setup('setup', '--submission', '--acme', 'https://other.test/directory')
    t.match(late, {
      code: 2,
      stderr:
        /says otherwise: acme\.directory is https:\/\/ca\.test\/directory, submission is not set \(add \[submission\] with listen = .*\)\. Change/,
    })
    const other = await setup('setup', '--domain', 'theirs.example')
    t.equal(other.code, 2)
    t.match(other.stderr, /is there and says otherwise: account_domain is ours\.example/)
    const elsewhere = await setup('setup', '--hostname', 'a b', '--base-url', 'http://api.ours.example')
    t.match(
      elsewhere.stderr,
      /otherwise: hostname is mail\.ours\.example, base_url is https:\/\/api\.ours\.example\. Change/,
      'settings are called as they are in the file',
    )
    const capital = await setup(
      'setup',
      '--domain',
      'Ours.Example.',
      '--base-url',
      'https://API.ours.example/',
    )
    t.match(capital, { code: 0, stderr: '' }, 'the same, otherwise written')
    t.match(await setup('verify'), { code: 0, stdout: /all that was promised holds/ })
  },
)

t.test('a mailboxd that runs is told as that, and an API in the clear', async t => {
  const daemon = await startDaemon(t, { toml: 'base_url = "http://mail.ours.example"' })
  const again = await callCtl(dirname(daemon.configPath), '--config', daemon.configPath, 'setup')
  t.equal(again.code, 0, again.stderr)
  t.match(again.stdout, `Kept ${daemon.configPath}. mailboxd runs already.\n\ndata    ${daemon.dataDir}\n`)
  t.match(again.stdout, /mail\.ours\.example {2}\(api_without_tls\)/)
})

t.test('names are taken as people write them, and kept as DNS has them', async t => {
  const file = join(temporaryDir(t), 'mailboxd.toml')
  const ctl = (...args: string[]) => callCtl(dirname(file), '--config', file, ...args)
  const said = ['setup', '--domain', 'bücher.example', '--hostname', 'post.bücher.example']
  const made = await ctl(...said, '--operator-address', 'chef@müller.example')
  t.equal(made.code, 0, made.stderr)
  t.equal(
    made.stderr,
    [
      'bücher.example is written xn--bcher-kva.example in DNS, and so by mailboxd\n',
      'post.bücher.example is written post.xn--bcher-kva.example in DNS, and so by mailboxd\n',
      'chef@müller.example is written chef@xn--mller-kva.example in DNS, and so by mailboxd\n',
    ].join(''),
  )
  t.match(parseConfig(readFileSync(file, 'utf8'), file), {
    account_domain: 'xn--bcher-kva.example',
    hostname: 'post.xn--bcher-kva.example',
    operator_address: 'chef@xn--mller-kva.example',
  })
  t.equal((await ctl(...said)).code, 0, 'again, in the same words')
  for (const args of [
    ['inbox', 'get', 'hello@bücher.example'],
    ['inbox', 'create', 'ann@bücher.example'],
  ]) {
    t.match(await ctl(...args), { code: 0, stdout: /@xn--bcher-kva\.example$/m })
  }
  const added = await ctl('domain', 'add', 'müller.example')
  t.match(added, { code: 0, stdout: /^added xn--mller-kva\.example; publish these records:$/m })
  t.match(await ctl('domain', 'records', 'müller.example'), { code: 0, stdout: /^xn--mller-kva\.example\. / })
})

t.test(
  'who is asked may err, and need not agree to the terms of a CA',
  { skip: without('python3') },
  async t => {
    const file = join(temporaryDir(t), 'mailboxd.toml')
    const reactions = [
      { see: 'domain of your addresses: ', type: 'no domain' },
      { see: 'It must be a host name(.|\\s)*domain of your addresses: ', type: 'bücher.example' },
      { see: 'own name.*\\[mail\\.xn--bcher-kva\\.example\\]: ', type: '' },
      { see: 'reach the API.*\\]: ', type: '' },
      { see: 'Your own address.*: ', type: 'chef' },
      { see: 'It must be an email address(.|\\s)*Your own address.*: ', type: '' },
      { see: 'file of a TLS certificate.*: ', type: 'yes' },
      { see: 'yes cannot be read[^?]*file of a TLS certificate.*: ', type: '' },
      { see: 'terms of service of acme-v02\\.api\\.letsencrypt\\.org.*\\[y/N\\]: ', type: '' },
    ]
    const terminal = join(import.meta.dirname, '..', 'support', 'terminal.py')
    const ctl = [process.execPath, builtProgram('mailboxctl'), '--config', file, 'setup']
    const { code, stdout } = await runProgram('python3', [terminal, JSON.stringify(reactions), ...ctl], '')
    t.equal(code, 0, stdout)
    t.match(stdout, /written xn--bcher-kva\.example in DNS/)
    t.match(
      stdout,
      /\(certificate_self_signed\)\s+the certificate is one that mailboxd signs itself: [^(]*\(STARTTLS\)/,
    )
    t.match(
      stdout,
      /\n +\[acme\]\s+directory = "https:.*"\s+terms_agreed = true\s+$/,
      'how to have one later',
    )
    t.notMatch(parseConfig(readFileSync(file, 'utf8'), file), { acme: { directory: String } })
  },
)

t.test(
  'a run that was cut off is mended by the next one',
  { skip: process.getuid?.() === 0 ? false : 'only root gives files away' },
  async t => {
    const dir = temporaryDir(t)
    chmodSync(dir, 0o755)
    const programs = join(dir, 'bin')
    mkdirSync(programs)
    // The user of the daemon, whatever this machine calls its users.
    writeFileSync(join(programs, 'id'), '#!/bin/sh\necho 65534\n', { mode: 0o755 })
    const file = join(dir, 'mailboxd.toml')
    const data = join(dir, 'data')
    const command = [process.execPath, builtProgram('mailboxctl'), '--config', file, 'setup']
    const said = ['--domain', 'ours.example', '--hostname', 'mail.ours.example']
    const env = { PATH: `${programs}:${process.env.PATH}` }
    const setup = (...before: string[]) => {
      const [program = '', ...args] = [...before, ...command, ...said]
      return runProgram(program, args, '', { env })
    }

    const full = await setup('prlimit', '--fsize=16')
    t.not(full.code, 0, 'nothing can be written')
    t.notOk(existsSync(file), 'and half of a configuration is not left')
    writeFileSync(file, '')
    const first = await setup()
    t.match(first, { code: 0, stdout: /^Wrote / }, first.stderr)

    const whose = (path: string) => {
      const { uid, gid, mode } = statSync(path)
      return [uid, gid, (mode & 0o777).toString(8)]
    }
    const database = join(data, 'mailboxd.sqlite')
    const right = [file, data, database].map(whose)
    t.strictSame(right, [
      [0, 65_534, '640'],
      [65_534, 65_534, '700'],
      [65_534, 65_534, '600'],
    ])
    for (const path of [file, data, ...readdirSync(data).map(name => join(data, name))]) chownSync(path, 0, 0)
    chmodSync(file, 0o600)
    const again = await setup()
    t.match(again, { code: 0, stdout: /^Kept / }, again.stderr)
    t.strictSame([file, data, database].map(whose), right)
  },
)

t.test(
  'setup leaves a domain that receives mail elsewhere alone, and proposes a subdomain',
  {
    skip:
      process.getuid?.() === 0
        ? without('unshare', 'python3')
        : 'only root gives a program another resolv.conf',
  },
  async t => {
    const dns = await startDns({
      'company.example': { MX: [{ priority: 10, exchange: 'mx.example.net' }] },
      '_dmarc.company.example': { TXT: ['v=DMARC1; p=reject'] },
    })
    t.teardown(() => dns.close())
    const dir = temporaryDir(t)
    const resolvers = join(dir, 'resolv.conf')
    writeFileSync(resolvers, `nameserver ${dns.server}\n`)
    const file = join(dir, 'mailboxd.toml')
    const inside = ['unshare', '-m', 'sh', '-c', 'mount --bind "$0" /etc/resolv.conf && exec "$@"', resolvers]
    const ctl = [...inside, process.execPath, builtProgram('mailboxctl'), '--config', file, 'setup']
    const setup = (...args: string[]) => runProgram(ctl[0]!, [...ctl.slice(1), ...args], '')

    const said = ['--domain', 'company.example', '--hostname', 'mail.company.example']
    const refused = await setup(...said)
    t.not(refused.code, 0)
    t.match(refused.stderr, /mx\.example\.net.*split.*lost.*agents\.company\.example.*--replace-mx/s)
    t.notOk(existsSync(file), 'nothing is written')

    const reactions = [
      { see: 'domain of your addresses: ', type: 'company.example' },
      { see: 'mx\\.example\\.net[^?]*Use agents\\.company\\.example instead.*: ', type: '' },
      { see: 'own name.*\\[mail\\.agents\\.company\\.example\\]: ', type: '' },
      { see: 'reach the API.*\\]: ', type: '' },
      { see: 'Your own address.*: ', type: '' },
      { see: 'file of a TLS certificate.*: ', type: '' },
      { see: '\\[y/N\\]: ', type: '' },
    ]
    const terminal = join(import.meta.dirname, '..', 'support', 'terminal.py')
    const asked = await runProgram('python3', [terminal, JSON.stringify(reactions), ...ctl], '')
    t.equal(asked.code, 0, asked.stdout)
    t.match(parseConfig(readFileSync(file, 'utf8'), file), { account_domain: 'agents.company.example' })
    t.match(asked.stdout, /^agents\.company\.example\. 3600 IN MX 10 /m)
    t.notMatch(asked.stdout, /v=DMARC1/, 'the policy above is inherited')

    rmSync(file)
    rmSync(join(dir, 'data'), { recursive: true })
    const meant = await setup(...said, '--replace-mx')
    t.match(meant, { code: 0, stdout: /^; company\.example\. 3600 IN MX 10 mail\./m }, meant.stderr)
    t.match(meant.stdout, /first .*remove the other MX records.*Found: 10 mx\.example\.net/)
    t.notMatch(meant.stdout, /v=DMARC1/, 'p=reject stays as it is')
  },
)

t.test(
  'where systemd runs, setup says what keeps mailboxd from its start, and lets the daemon read its configuration',
  { skip: process.getuid?.() === 0 ? without('unshare', 'ip') : 'only root starts services' },
  async t => {
    const dir = temporaryDir(t)
    chmodSync(dir, 0o755)
    // The directories that stand in the place of the machine's, by what they are called here.
    const places = { etc: '/etc', run: '/run', units: '/usr/lib/systemd/system', data: '/var/lib' }
    for (const name of ['bin', ...Object.keys(places), 'run/systemd/system']) {
      mkdirSync(join(dir, name), { recursive: true })
      chmodSync(join(dir, name), 0o755)
    }
    const group = 64_900
    writeFileSync(
      join(dir, 'etc/passwd'),
      `root:x:0:0::/root:/bin/sh\nmailboxd:x:${group}:${group}::/:/bin/false\n`,
    )
    writeFileSync(join(dir, 'etc/group'), `root:x:0:\nmailboxd:x:${group}:\n`)
    writeFileSync(join(dir, 'etc/resolv.conf'), 'nameserver 127.0.0.1\n')
    writeFileSync(join(dir, 'units/mailboxd.service'), '')
    const program = (name: string, script: string) =>
      writeFileSync(join(dir, 'bin', name), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    const systemd = (status: number) =>
      program('systemctl', `echo 'Job failed. See "journalctl -xe".' >&2\nexit ${status}`)
    program('journalctl', 'echo "fatal: the daemon says what is wrong"')
    const mounts = Object.entries(places).map(([name, place]) => `mount --bind "$0/${name}" ${place}`)
    const command = [process.execPath, builtProgram('mailboxctl'), 'setup']
    const setup = (before = '') => {
      const script = [...mounts, 'ip link set lo up', before, 'PATH="$0/bin:$PATH" "$@"'].join('\n')
      const said = ['--domain', 'ours.example', '--hostname', 'mail.ours.example']
      return runProgram('unshare', ['-m', '-n', 'sh', '-c', script, dir, ...command, ...said], '')
    }
    const folder = join(dir, 'etc/mailboxd')
    const config = join(folder, 'mailboxd.toml')

    systemd(0)
    const listener =
      "require('node:net').createServer().listen(25, '127.0.0.1', () => require('node:fs').writeSync(1, 'up\\n'))"
    const otherServer = `mkfifo "$0/up"
"${process.execPath}" -e "${listener}" >"$0/up" & other=$!
trap 'kill $other' EXIT
read -r up <"$0/up"`
    const taken = await setup(otherServer)
    t.match(taken, {
      code: 1,
      stderr: /mailboxd cannot start:.*\(process \d+\) listens there.*smtp\.listen/s,
    })
    t.notMatch(taken.stderr, /Command failed|Job failed/)
    t.strictSame([existsSync(folder), existsSync(join(dir, 'data/mailboxd'))], [false, false])

    systemd(1)
    const failed = await setup()
    t.match(failed, {
      code: 1,
      stderr: /mailboxd did not start:\n\nfatal: the daemon says what is wrong\n.*mailboxctl setup again/s,
    })
    t.notMatch(failed.stderr, /Command failed|Job failed/)
    const full = await setup('mount -t tmpfs -o size=64k tmpfs /var/lib')
    t.match(full, { code: 1, stderr: /mailboxd did not start:.*the disk is full/s })
    t.notMatch(full.stderr, /Command failed|Job failed|fatal: the daemon/)

    systemd(0)
    const whose = (path: string) => {
      const { uid, gid, mode } = statSync(path)
      return [uid, gid, (mode & 0o777).toString(8)]
    }
    t.match(await setup(), { code: 0, stdout: /^Kept .* mailboxd runs\.$/m })
    rmSync(folder, { recursive: true })
    const again = await setup()
    t.match(again, { code: 0, stdout: /^Wrote .* mailboxd runs\.$/m }, again.stderr)
    t.strictSame([folder, config].map(whose), [
      [0, group, '750'],
      [0, group, '640'],
    ])
  },
)
