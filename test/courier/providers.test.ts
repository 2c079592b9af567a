import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { loadProviders } from '../../lib/courier/providers.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

function providersOf(t: Test, text: string) {
  const file = join(temporaryDir(t), 'providers.txt')
  writeFileSync(file, text)
  return loadProviders(file)
}

t.test('a provider is known by the end of the names of its servers', async t => {
  const providers = providersOf(t, '# x\n\nbig.example\tbig\t20\t600\nother.example\tbig\t1\t1\n')
  const big = { name: 'big', concurrency: 20, perMinute: 600 }
  t.strictSame(providers.ofHost('mx1.big.example'), big)
  t.strictSame(providers.ofHost('big.example'), big)
  t.strictSame(providers.ofHost('mx.other.example'), big, 'the numbers of its first line')
  t.strictSame(providers.named('big'), big)
  for (const host of ['notbig.example', 'example', 'big.example.evil.example'])
    t.equal(providers.ofHost(host), undefined, host)
})

t.test('a line that is none is said with its number', async t => {
  for (const line of ['big.example', 'big.example\tbig\t0\t1', 'big.example\tbig\tmany\t1', 'a\tb\t1\t1\t1'])
    t.throws(() => providersOf(t, `# x\n${line}\n`), /line 2/)
})

t.test('those that come with the program', async t => {
  const providers = loadProviders()
  t.match(providers.ofHost('gmail-smtp-in.l.google.com'), { name: 'google' })
  t.match(providers.ofHost('acme-example.mail.protection.outlook.com'), { name: 'microsoft' })
  t.match(providers.ofHost('mta5.am0.yahoodns.net'), { name: 'yahoo' })
  t.equal(providers.ofHost('mx.theirs.example'), undefined)
})
