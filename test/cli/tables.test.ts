import t from 'tap'
import { tellCertificates } from '../../lib/cli/certificates-text.ts'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { tableOf } from '../../lib/cli/output.ts'
import { readSources } from '../rules/source-tree.ts'

/** The widest that each may be: ids, instants, and what strangers write. */
function widest(columns: readonly string[]): object {
  return Object.fromEntries(
    columns.map(name => {
      if (/(?:^|[_a-z])at$/i.test(name)) return [name, '2026-01-02T03:04:05.678Z']
      if (/^(?:.*[_a-z])?id$/i.test(name) && name !== 'clientId')
        return [name, '01890000-0000-7000-8000-000000000000']
      return [name, 'w'.repeat(300)]
    }),
  )
}

t.test('every table fits 100 columns, with its ids whole', async t => {
  const local = readSources()
    .filter(({ path }) => path.startsWith('lib/cli/') && !path.includes('/operations/'))
    .flatMap(({ text }) => [...text.matchAll(/(?:columns = |tableOf\(\w+, )\[([^\]]+)\]/g)])
    .map(([, list]) => [...list!.matchAll(/'([^']+)'/g)].map(([, name]) => name!))
  t.ok(local.length > 5, `${local.length}`)
  const all = [...local, ...Object.values(spoken).flatMap(({ columns }) => (columns ? [[...columns]] : []))]
  for (const columns of all) {
    const row = widest(columns)
    const lines = tableOf([row, row], columns).split('\n')
    t.equal(lines.length, 3, columns.join())
    for (const line of lines)
      t.ok(line.replaceAll(/\x1b\[\d+m/g, '').length <= 100, `${columns.join()}: ${line.length}`)
    if (columns.includes('id')) t.match(lines[1], '01890000-0000-7000-8000-000000000000')
  }
})

t.test('rows that can not fit are lists of their properties', async t => {
  const columns = ['id', 'podId', 'inboxId']
  const text = tableOf([widest(columns), widest(columns)], columns)
  t.strictSame(
    text.split('\n').map(line => line.split(/ +/)[0]),
    ['id', 'podId', 'inboxId', '', 'id', 'podId', 'inboxId'],
  )
})

t.test('what tells one message from another has the room', async t => {
  const row = {
    id: '01890000-0000-7000-8000-000000000000',
    direction: 'outbound',
    fromAddr: 'billing.department@customer-relations.example.com',
    subject: 'Invoice 2026-114 is overdue since the 3rd of May',
    category: 'transactional',
    createdAt: '2026-01-02T03:04:05.678Z',
  }
  const [, line] = tableOf([row], spoken.listInboxMessages!.columns!).split('\n')
  t.match(line, /^\S+ {2}billing\.dep… {2}Invoice 2026-114 is overdue … {2}2026-01-02 03:04Z$/)
  t.ok(line!.length <= 100, `${line!.length}`)
})

t.test('what is wrong with a certificate is told whole', async t => {
  const problem =
    'not issued yet: the CA could not reach http://mail.example.com/.well-known/acme-challenge/x: connection refused; not tried again before 2026-01-02T03:04:05.678Z'
  const row = {
    source: 'acme',
    names: null,
    notAfter: null,
    certificate: '/var/lib/mailboxd/acme/certificate.pem',
    problem,
  } as const
  const told = tellCertificates([row, { ...row, source: 'file', names: 'mail.example.com', problem: null }])
  t.equal(told.split('\n').at(-1), `acme ${row.certificate}: ${problem}`)
  t.equal(told.split('\n').length, 5)
})
