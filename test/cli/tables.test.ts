import t from 'tap'
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
