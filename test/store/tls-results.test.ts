import {
  countTlsResults,
  deleteTlsResultsBefore,
  listTlsResults,
  listUnreported,
  setTlsResultsReported,
  tlsResultRows,
} from '../../lib/store/tls-results.ts'
import { onEveryDatabase } from '../support/databases.ts'

onEveryDatabase('results of TLS are counted by day and domain, bounded', async (t, store) => {
  const result = { policyDomain: 'a.example', policyType: 'sts', type: 'success', host: 'mx.a.example' }
  const at = '2026-11-22T23:59:59.000Z'
  await store.write(db => countTlsResults(db, [result, result, { ...result, host: 'mx2.a.example' }], at))
  await store.write(db =>
    countTlsResults(db, [{ ...result, policyDomain: 'b.example' }], '2026-11-23T00:00:00.000Z'),
  )
  t.match(await listTlsResults(store.read, '2026-11-22', 'a.example'), [
    { host: 'mx.a.example', count: 2 },
    { host: 'mx2.a.example', count: 1 },
  ])
  t.same(await listUnreported(store.read, '2026-11-23', 10), [{ day: '2026-11-22', domain: 'a.example' }])
  const day = { day: '2026-11-22', domain: 'a.example' }
  t.equal(await store.write(db => setTlsResultsReported(db, day, at)), true)
  t.equal(await store.write(db => setTlsResultsReported(db, day, at)), false)
  t.same(await listUnreported(store.read, '2026-11-23', 10), [])
  t.equal(await store.write(db => deleteTlsResultsBefore(db, '2026-11-23', 10)), 1)

  // Whoever has a name server can have any number of hosts.
  const many = Array.from({ length: tlsResultRows + 20 }, (_, index) => ({
    ...result,
    host: `mx${index}`,
  }))
  await store.write(db => countTlsResults(db, many, at))
  const rows = await listTlsResults(store.read, '2026-11-22', 'a.example')
  t.equal(rows.length, tlsResultRows + 1)
  t.match(
    rows.find(row => row.host === ''),
    { count: 20 },
  )
})
