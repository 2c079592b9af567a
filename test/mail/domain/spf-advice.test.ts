import t from 'tap'
import { adviseSpf } from '../../../lib/mail/domain/spf-advice.ts'
import { zoneDns } from './zone-dns.ts'

const names = {
  domain: 'theirs.example',
  hostname: 'mail.ours.example',
  selector: 'mailboxd',
  publicKeyBase64: '',
}

/** What to leave where these SPF records stand at one name. */
async function pasteFor(name: string, ...records: string[]): Promise<string | null | undefined> {
  return pasteOf('spf_several', name, ...records)
}

async function pasteOf(code: string, name: string, ...records: string[]): Promise<string | null | undefined> {
  const { resolve } = zoneDns({
    'mail.ours.example': [{ A: '192.0.2.1' }, { TXT: 'v=spf1 a -all' }],
    [name]: records.map(TXT => ({ TXT })),
  })
  const sources = { ipv4: ['192.0.2.1'], ipv6: [], useIpv6: false }
  const findings = await adviseSpf(names, resolve, sources)
  return findings.find(one => one.code === code)?.paste
}

t.test('of several SPF records that is offered which lets our mail pass', async t => {
  const google = 'v=spf1 ip4:203.0.113.9 -all'
  const ours = 'v=spf1 a:mail.ours.example -all'
  const both = 'v=spf1 ip4:203.0.113.9 ip4:192.0.2.1 -all'
  t.match(
    await pasteFor('bounce.theirs.example', google, both),
    `bounce.theirs.example. 3600 IN TXT "${ours}"`,
    'ours where mail is judged',
  )
  t.match(await pasteFor('theirs.example', google, 'v=spf1 +all', both), `"${both}"`)
  t.equal(await pasteFor('theirs.example', google, 'v=spf1 -all'), null, 'none passes: its owner chooses')
})

t.test('a record that does not name us is offered as a whole, with us in it', async t => {
  t.match(
    await pasteOf('spf_without_us', 'theirs.example', 'v=spf1 ip4:203.0.113.9 -all'),
    'theirs.example. 3600 IN TXT "v=spf1 a:mail.ours.example ip4:203.0.113.9 -all"',
  )
})
