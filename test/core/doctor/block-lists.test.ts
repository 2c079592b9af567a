import t from 'tap'
import { checkBlockLists } from '../../../lib/core/doctor/block-lists.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'

const listed = { A: ['127.0.0.2'] }

t.test('addresses that mail leaves from are looked for in lists that answer as lists do', async t => {
  const dns = await startDns({
    'mail.ours.example': { A: ['192.0.2.1', '192.0.2.2'] },
    '2.0.0.127.good.example': listed,
    '2.2.0.192.good.example': listed,
    '2.0.0.127.refusing.example': { A: ['127.255.255.254'] },
  })
  t.teardown(() => dns.close())
  const found = async (toml: string) => {
    const { app } = await startApi(t, { dns: dns.server, toml })
    return (await checkBlockLists(app)).map(({ level, code, subject }) => `${level} ${code} ${subject}`)
  }
  t.strictSame(await found('[dns_lists]\nzones = ["good.example"]'), ['error on_block_list 192.0.2.2'])
  t.strictSame(
    await found('[dns_lists]\nzones = ["good.example"]\n[delivery]\npublic_addresses = ["192.0.2.1"]'),
    [],
    'only whence mail leaves',
  )
  const smarthost = '[[delivery.route]]\ndomains = ["*"]\nhost = "relay.example"\n'
  t.strictSame(
    await found(`[dns_lists]\nzones = ["good.example"]\n${smarthost}`),
    [],
    'a smarthost has its own',
  )
  t.match(await found('[dns_lists]\nzones = ["refusing.example"]'), ['warning not_checked refusing.example'])
  t.match(await found(''), ['hint not_checked zen.spamhaus.org', 'hint not_checked bl.spamcop.net'])
  dns.fail('mail.ours.example', 'SERVFAIL')
  t.strictSame(await found(''), ['warning not_checked mail.ours.example'])
})
