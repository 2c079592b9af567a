import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parseConfig } from '../../lib/config/load.ts'
import { builtProgram } from '../support/built.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test(
  'setup writes the configuration, makes key and inbox, and prints the DNS; again it keeps them',
  async t => {
    const file = join(temporaryDir(t), 'mailboxd.toml')
    const setup = (...args: string[]) =>
      runProgram(process.execPath, [builtProgram('mailboxctl'), '--config', file, ...args], '')
    const unsaid = await setup('setup', '--domain', 'ours.example')
    t.equal(unsaid.code, 2)
    t.match(unsaid.stderr, /without a terminal to ask on, give --hostname/)
    const said = ['setup', '--domain', 'ours.example', '--hostname', 'mail.ours.example']
    t.equal(
      (await setup(...said, '--acme', 'https://ca.test/directory')).code,
      2,
      'terms are agreed to by nobody else',
    )

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
    t.match(first.stdout, /^mail\.ours\.example\. 3600 IN A .+$/m)
    t.match(first.stdout, /^ {2}type {6}A\n {2}name {6}mail\.ours\.example\n {2}value {5}.+$/m)
    t.match(first.stdout, /^key {5}mbx_\w+ {2}\(shown this once\)$/m)
    t.match(first.stdout, /^ours\.example\. 3600 IN MX 10 mail\.ours\.example\.$/m)
    t.match(first.stdout, /^ {2}value {5}v=DKIM1; k=rsa; p=[\w+/=]{300,}$/m, 'a key in one piece, for a form')

    const records = await setup('domain', 'records')
    t.equal(records.code, 0, records.stderr)
    t.match(records.stdout, /^mail\.ours\.example\. 3600 IN A /, 'without which no other host finds this one')
    t.ok(first.stdout.includes(`\n\n${records.stdout}\n`), 'the same list')

    const again = await setup(...said)
    t.equal(again.code, 0, again.stderr)
    t.match(again.stdout, /Kept .*mailboxd\.toml/)
    t.match(again.stdout, /there is one already/)
    const other = await setup('setup', '--domain', 'theirs.example')
    t.equal(other.code, 2)
    t.match(other.stderr, /is there and says otherwise: domain is ours\.example/)
    t.match(await setup('verify'), { code: 0, stdout: /all that was promised holds/ })
  },
)
