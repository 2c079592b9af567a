import t from 'tap'
import { bounceDomain } from '../../../lib/mail/address/bounce-domain.ts'
import { generateDkimKey } from '../../../lib/mail/compose/dkim.ts'
import { type DomainRecord, domainRecords, zoneFile } from '../../../lib/mail/domain/records.ts'

const { publicKeyBase64 } = await generateDkimKey()
const records = domainRecords({
  domain: 'example.com',
  hostname: 'mail.example.net',
  selector: 'mailboxd',
  publicKeyBase64,
})

t.test('a domain needs five records, each with its purpose', async t => {
  const dkim = `v=DKIM1; k=rsa; p=${publicKeyBase64}`
  t.same(records, [
    { type: 'MX', name: 'example.com', value: 'mail.example.net', priority: 10, purpose: 'mx' },
    { type: 'TXT', name: 'mailboxd._domainkey.example.com', value: dkim, priority: null, purpose: 'dkim' },
    {
      type: 'MX',
      name: 'bounce.example.com',
      value: 'mail.example.net',
      priority: 10,
      purpose: 'return-path',
    },
    {
      type: 'TXT',
      name: 'bounce.example.com',
      value: 'v=spf1 a:mail.example.net -all',
      priority: null,
      purpose: 'spf',
    },
    { type: 'TXT', name: '_dmarc.example.com', value: 'v=DMARC1; p=none', priority: null, purpose: 'dmarc' },
  ])
  t.equal(bounceDomain('example.com'), 'bounce.example.com')
})

t.test('the zone file has a line for each, with long texts in strings of 255 bytes', async t => {
  const lines = zoneFile(records).split('\n')
  t.equal(lines.length, records.length + 1)
  t.equal(lines[0], 'example.com. 3600 IN MX 10 mail.example.net.')
  t.equal(lines[3], 'bounce.example.com. 3600 IN TXT "v=spf1 a:mail.example.net -all"')
  const strings = [...lines[1]!.matchAll(/"([^"]*)"/g)].map(match => match[1]!)
  t.ok(strings.length === 2 && strings.every(text => text.length <= 255))
  t.equal(strings.join(''), records[1]!.value)
})

t.test('texts are quoted as master files want it', async t => {
  const record = (value: string): DomainRecord => ({ ...records[4]!, value })
  t.match(zoneFile([record('a "b" \\ c')]), 'TXT "a \\"b\\" \\\\ c"\n')
  t.match(zoneFile([record('ä\n')]), 'TXT "\\195\\164\\010"\n')
  t.match(zoneFile([record('')]), 'TXT ""\n')
  t.match(zoneFile([record('x'.repeat(255))]), `TXT "${'x'.repeat(255)}"\n`)
  t.match(zoneFile([record('x'.repeat(256))]), `TXT "${'x'.repeat(255)}" "x"\n`)
})
