import t from 'tap'
import { domainReport } from '../../lib/cli/domain-report.ts'
import type { Domain, RecordStatus } from '../../lib/model/domain.ts'

const at = '2026-01-02T03:04:05.678Z'

function domain(mx: RecordStatus, dmarc: RecordStatus, warnings: Domain['warnings'] = []): Domain {
  return {
    id: '01890000-0000-7000-8000-000000000000',
    domain: 'theirs.example',
    podId: null,
    status: 'pending',
    problem: null,
    records: [
      {
        type: 'MX',
        name: 'theirs.example',
        value: 'mail.ours.example',
        priority: 10,
        purpose: 'mx',
        status: mx,
        found: mx === 'invalid' ? ['10 mx.other.example'] : [],
        problem: mx === 'valid' ? null : 'Its mail goes elsewhere.',
      },
      {
        type: 'TXT',
        name: '_dmarc.theirs.example',
        value: 'v=DMARC1; p=none',
        priority: null,
        purpose: 'dmarc',
        status: dmarc,
        found: [],
        problem: dmarc === 'valid' ? null : 'Publish this record.',
      },
    ],
    warnings,
    verifiedAt: null,
    createdAt: at,
    updatedAt: at,
  }
}

t.test('each record with its status, and what to do', async t => {
  const warnings: Domain['warnings'] = [{ code: 'competing_mx', message: 'Remove it.', hosts: ['a.example'] }]
  t.strictSame(domainReport(domain('invalid', 'missing', warnings)).split('\n'), [
    'invalid  mx           MX theirs.example',
    '         Its mail goes elsewhere.',
    '         found: 10 mx.other.example',
    'advised  dmarc        TXT _dmarc.theirs.example',
    '         Publish this record.',
    '         _dmarc.theirs.example. 3600 IN TXT "v=DMARC1; p=none"',
    'warning: Remove it.',
  ])
  t.equal(
    domainReport(domain('valid', 'valid')),
    'valid    mx           MX theirs.example\nvalid    dmarc        TXT _dmarc.theirs.example',
  )
})

t.test('a domain that is verified is not called invalid', async t => {
  t.match(domainReport(domain('valid', 'invalid')), /^advised {2}dmarc/m)
})
