import t from 'tap'
import { tellCertificates } from '../../lib/cli/certificates-text.ts'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { textOfUsage } from '../../lib/cli/operations/usage-text.ts'
import { tableOf } from '../../lib/cli/output.ts'
import { tableWidth } from '../../lib/cli/terminal.ts'
import { readSources } from '../rules/source-tree.ts'

/** The widest that each may be: ids, instants, and what strangers write. */
function widest(columns: readonly string[]): object {
  return Object.fromEntries(
    columns.map(name => {
      if (/(?:^|[_a-z])at$/i.test(name)) return [name, '2026-01-02T03:04:05.678Z']
      if (/^(?:.*[_a-z])?id$/i.test(name) && name !== 'clientId')
        return [name, '01890000-0000-7000-8000-000000000000']
      // One of a few words of ours.
      if (name === 'event') return [name, 'inbox.reactivated']
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
    const lines = tableOf([row, row], columns, 100).split('\n')
    t.equal(lines.length, 3, columns.join())
    for (const line of lines)
      t.ok(line.replaceAll(/\x1b\[\d+m/g, '').length <= 100, `${columns.join()}: ${line.length}`)
    if (columns.includes('id')) t.match(lines[1], '01890000-0000-7000-8000-000000000000')
  }
})

t.test('usage is tables that fit 100 columns, however it is grouped', async t => {
  const id = '01890000-0000-7000-8000-000000000000'
  const counts = {
    ...{ inbound: 123_456, outbound: 123_456, delivered: 123_456, bounced: 123_456 },
    ...{ attachmentBytes: 123_456_789_012, storedBytes: 123_456_789_012 },
  }
  const inbox = { inboxId: id, podId: id, address: `${'w'.repeat(60)}@example.com`, ...counts }
  const limits = {
    plan: 'pro' as const,
    inboxes: { used: 3, limit: null },
    inboxCreations: { used: 3, limit: 100, resetsAt: '2026-01-02T03:04:05.678Z' },
    messages: { used: 3, limit: null, resetsAt: '2026-01-02T03:04:05.678Z' },
    coldRecipients: null,
    inboxStorage: null,
    podStorage: null,
  }
  for (const [groupBy, row] of [
    ['day', { day: '2026-01-02', ...counts }],
    ['inbox', inbox],
    ['pod', { podId: id, ...counts }],
    ['account', { accountId: id, ...counts }],
  ] as const) {
    const days = { from: '2026-01-02', to: '2026-01-02' }
    const usage = { ...days, groupBy, rows: [row], inboxes: [inbox], totals: counts, limits }
    const lines = textOfUsage(usage, 100).split('\n')
    for (const line of lines) t.ok(line.length <= 100, `${groupBy}: ${line}`)
    t.equal(lines.filter(line => /^of +used +limit +resetsAt$/.test(line)).length, 1)
    t.match(lines.slice(0, 3), [/^2026-01-02 to 2026-01-02, by /, /^\w+ +\w+ +/, / 123456 /])
    t.ok(lines.some(line => /^inboxCreations +3 +100 +2026-01-02 03:04Z$/.test(line)))
    t.ok(lines.includes('messages        3     none   2026-01-02 03:04Z'), lines.join('\n'))
  }
})

t.test('on a narrow terminal when it was gives way, and not what tells rows apart', async t => {
  const event = {
    event_id: '01890000-0000-7000-8000-000000000000',
    event: 'message.delivered',
    inbox_address: 'support@agents.example.com',
    occurred_at: '2026-01-02T03:04:05.678Z',
  }
  const columns = spoken.listEvents!.columns!
  const narrow = tableOf([event], columns, 80).split('\n')[1]!
  t.match(narrow, /^01890000-0000-7000-8000-000000000000 {2}message\.delivered {2}\S+@agents\.example\.com$/)
  t.ok(narrow.length <= 80, narrow)
  t.match(tableOf([event], columns, 110), /2026-01-02 03:04Z$/m)
  const inbox = {
    id: event.event_id,
    address: 'support@agents.example.com',
    displayName: null,
    createdAt: event.occurred_at,
  }
  const [, shown] = tableOf([inbox], spoken.listInboxes!.columns!, 80).split('\n')
  t.match(shown, / {2}support@agents\.example\.com {2}-$/)
})

t.test('rows that can not fit are lists of their properties', async t => {
  const columns = ['id', 'podId', 'inboxId']
  const text = tableOf([widest(columns), widest(columns)], columns, 100)
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
  const [, line] = tableOf([row], spoken.listInboxMessages!.columns!, 100).split('\n')
  t.match(line, /^\S+ {2}b…-relations\.example\.com {2}Invoice 2026-114… {2}2026-01-02 03:04Z$/)
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

t.test('a table counts the columns that a terminal shows, and cuts no character', async t => {
  const columns = ['subject', 'state']
  const subjects = [
    '請求書の件'.repeat(30),
    '👩‍👩‍👧‍👦🎉'.repeat(30),
    'e\u0301'.repeat(90),
    'é',
    '한글',
    'plain',
    '✉️',
    '☎',
  ]
  const table = tableOf(
    subjects.map(subject => ({ subject, state: 'x' })),
    columns,
    80,
  )
  const [, ...lines] = table.split('\n')
  t.match(lines[0], /^(?:請求書の件){7}請… {3}x$|^(?:請求書の件)+.{0,4}… {2,3}x$/)
  t.match(lines[1], /^(?:👩‍👩‍👧‍👦🎉)+(?:👩‍👩‍👧‍👦)?… {2,3}x$/u)
  t.ok(table.isWellFormed())
  // Each of them ends its first column at the same place: what of it is wide or nothing is counted by hand.
  const shown = lines.map(
    line =>
      line.length +
      (line.match(/[請求書の件한글]/g)?.length ?? 0) -
      (line.match(/👩‍👩‍👧‍👦/gu)?.length ?? 0) * 9 -
      (line.match(/\u0301/g)?.length ?? 0),
  )
  t.strictSame(new Set(shown), new Set([76]), table)
})

t.test('an address that is cut keeps its domain', async t => {
  const row = {
    id: '01890000-0000-7000-8000-000000000000',
    fromAddr: `${'newsletter'.repeat(8)}+tag@peer.example.org`,
    subject: 'Invoice '.repeat(20),
    createdAt: '2026-01-02T03:04:05.678Z',
  }
  const columns = ['id', 'fromAddr', 'subject', 'createdAt']
  t.match(tableOf([row], columns, 100), /n…@peer\.example\.org {2}Invoice/)
  t.match(
    tableOf([{ recipient: row.fromAddr }], ['recipient'], 80),
    /^news.*letter\+tag@peer\.example\.org$/m,
  )
})

t.test('a table is as wide as its terminal, and in a pipe nothing is cut', async t => {
  t.equal(tableWidth({ isTTY: true, columns: 132 }), 132)
  t.equal(tableWidth({ isTTY: true, columns: 40 }), 80)
  t.equal(tableWidth({ isTTY: true, columns: 0 }), 100)
  t.equal(tableWidth({ isTTY: true }), 100)
  const recipient = `${'a'.repeat(60)}@${'b'.repeat(60)}.example`
  const lastReply = 'said '.repeat(100).trim()
  const table = tableOf([{ recipient, lastReply }], ['recipient', 'lastReply'], tableWidth({ columns: 80 }))
  t.ok(table.endsWith(`\n${recipient}  ${lastReply}`), table)
})
