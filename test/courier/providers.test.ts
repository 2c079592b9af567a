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
  t.strictSame(providers.ofHosts(['mx1.big.example']), big)
  t.strictSame(providers.ofHosts(['big.example']), big)
  t.strictSame(providers.ofHosts(['mx.other.example']), big, 'the numbers of its first line')
  t.strictSame(providers.named('big'), big)
  for (const host of ['notbig.example', 'example', 'big.example.evil.example'])
    t.equal(providers.ofHosts([host]), undefined, host)
  t.strictSame(providers.ofHosts(['mx1.big.example', 'mx.other.example']), big)
  t.equal(providers.ofHosts(['mx1.big.example', 'dead.evil.example']), undefined, 'beside a stranger')
  t.equal(providers.ofHosts(['dead.evil.example', 'mx1.big.example']), undefined)
})

t.test('a line that is none is said with its number', async t => {
  for (const line of ['big.example', 'big.example\tbig\t0\t1', 'big.example\tbig\tmany\t1', 'a\tb\t1\t1\t1'])
    t.throws(() => providersOf(t, `# x\n${line}\n`), /line 2/)
})

t.test('those that come with the program', async t => {
  const providers = loadProviders()
  t.match(providers.ofHosts(['gmail-smtp-in.l.google.com', 'alt1.gmail-smtp-in.l.google.com']), {
    name: 'google',
  })
  t.match(providers.ofHosts(['acme-example.mail.protection.outlook.com']), { name: 'microsoft' })
  t.match(providers.ofHosts(['mta5.am0.yahoodns.net']), { name: 'yahoo' })
  for (const other of ['mx.theirs.example', 'www.google.com', 'a.google.com', 'c-192-0-2-1.hsd1.comcast.net'])
    t.equal(providers.ofHosts([other]), undefined, other)
})
