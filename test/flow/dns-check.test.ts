import t from 'tap'
import { dmarcRecord, zoneFile } from '../../lib/mail/domain/records.ts'
import type { Domain } from '../../lib/model/domain.ts'
import { apiOf } from '../support/api.ts'
import { startDaemon } from '../support/daemon.ts'
import { startKnot } from '../support/knot.ts'
import { without } from '../support/peers.ts'
import { until } from '../support/until.ts'

/** Nobody else listens there, and port 53 is where name servers are asked. */
const address = '127.53.12.4'

t.test(
  'what is wrong with a domain is told by an exit code and in JSON',
  { skip: without('knot') },
  async t => {
    const daemon = await startDaemon(t, { dns: `${address}:53` })
    const faults: Readonly<Record<string, (records: Domain['records']) => string>> = {
      'unpublished.example': () => '',
      'competing.example': records => `${zoneFile(records)}competing.example. MX 5 mx.other.example.\n`,
      'dkim-cut.example': records => changed(records, 'dkim', text => text.slice(0, 255)),
      'two-policies.example': records =>
        `${zoneFile(records)}_dmarc.two-policies.example. TXT "v=DMARC1; p=quarantine"\n`,
    }
    const advice = () => daemon.log().filter(({ level, code }) => level === 'warn' && code !== undefined)
    await until('what loses mail is told at the start', () => advice().length >= 3)
    t.strictSame(
      advice().map(({ code }) => code),
      ['certificate_self_signed', 'base_url_missing', 'domain_not_verified'],
      'in a line each',
    )
    const { token } = await daemon.createKey()
    const api = apiOf(daemon.baseUrl, token)
    const zones: Record<string, string> = {}
    for (const [name, publish] of Object.entries(faults)) {
      const { body } = await api.post('/v1/domains', { domain: name })
      // DNS does not answer yet, so the API does not list the DMARC record.
      zones[name] = publish([...body.records, dmarcRecord(name)])
    }
    const { data: own } = (await daemon.ctl('domain', 'records')) as { data: Domain['records'] }
    await startKnot(t, address, {
      example: '',
      ...zones,
      'ours.example': `mail A 192.0.2.9\n${zoneFile([...own, dmarcRecord('ours.example')])}`,
      '2.0.192.in-addr.arpa': '9 PTR mail.ours.example.\n',
    })
    const check = async (...args: string[]) => {
      const { code, stdout } = await daemon.ctlResult('dns', 'check', ...args)
      const said = JSON.parse(stdout) as {
        domain: Domain
        findings: { level: string; code: string; paste: string }[]
      }
      const told = said.findings.filter(one => one.level !== 'hint').map(one => one.code)
      return { code, told, said }
    }
    const well = await check()
    t.strictSame([well.code, well.told], [0, []], JSON.stringify(well.said))
    t.equal(well.said.domain.status, 'verified')
    t.strictSame(well.said.findings.map(one => one.code).sort(), [
      'caa_missing',
      'dnssec_unsigned',
      'mta_sts_missing',
      'spf_helo_missing',
      'tls_rpt_missing',
    ])

    const expected: Readonly<Record<string, readonly [code: number, ...told: string[]]>> = {
      'unpublished.example': [
        2,
        'mx_missing',
        'dkim_missing',
        'return_path_missing',
        'spf_missing',
        'dmarc_missing',
        'dkim_ed25519_missing',
      ],
      'competing.example': [2, 'competing_mx'],
      'dkim-cut.example': [2, 'dkim_truncated'],
      'two-policies.example': [2, 'dmarc_several'],
    }
    for (const [name, [code, ...told]] of Object.entries(expected)) {
      const found = await check(name)
      t.strictSame([found.code, found.told], [code, told], name)
    }
    const refused = await daemon.ctlResult('domain', 'check', 'two-policies.example')
    t.equal(refused.code, 1)
    const said: { status: string; findings: { level: string; code: string }[] } = JSON.parse(refused.stdout)
    t.equal(said.status, 'not_well')
    t.strictSame(
      said.findings.filter(({ level }) => level === 'error').map(({ code }) => code),
      ['dmarc_several'],
    )
    const doctor = await daemon.ctlResult('doctor')
    t.equal(doctor.code, 1, doctor.stdout)
    t.match(doctor.stdout, /"certificate_self_signed"[\s\S]*"base_url_missing"/)
  },
)

function changed(records: Domain['records'], purpose: string, change: (text: string) => string): string {
  return zoneFile(records.map(one => (one.purpose === purpose ? { ...one, value: change(one.value) } : one)))
}
