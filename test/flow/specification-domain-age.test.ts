import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { startDns } from '../support/dns.ts'
import { publish } from '../support/published.ts'
import { startSpecified } from '../support/specified.ts'

t.test('a domain whose records are never published', async t => {
  const dns = await startDns({})
  t.teardown(() => dns.close())
  const { api, daemon, token } = await startSpecified(t, { dns: dns.server })
  const { id, createdAt } = (await api.post('/v1/domains', { domain: 'slow.example' })).body
  const path = `/v1/domains/${id}`
  t.match(
    (await api.post(`${path}/verify`)).body,
    { status: 'pending' },
    '`pending` until a first check saw any of its records',
  )
  // As if it had been added 73 hours ago; the last check is as new as it is.
  await daemon.end('SIGTERM')
  const database = new Database(join(daemon.dataDir, 'mailboxd.sqlite'))
  const added = new Date(Date.parse(createdAt) - 73 * 3_600_000).toISOString()
  t.equal(database.prepare('update domain set "createdAt" = ? where id = ?').run(added, id).changes, 1)
  database.close()
  const again = apiOf((await daemon.restart()).baseUrl, token)
  const verified = await again.post(`${path}/verify`)
  t.equal(verified.status, 200)
  t.match(
    verified.body,
    { status: 'failed' },
    '`failed` 72 hours after adding (no verify starts that clock again)',
  )
  for (const record of verified.body.records) {
    t.match(
      record,
      { status: 'missing', found: [], problem: /./ },
      `what was found of ${record.purpose}: \`found: string[]\`, \`problem\``,
    )
  }
  publish(dns, verified.body)
  t.match(
    (await again.post(`${path}/verify`)).body,
    { status: 'verified', verifiedAt: /Z$/ },
    'a failed one that is mended becomes `verified` by verify',
  )
})
