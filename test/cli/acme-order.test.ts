import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { acmeFindings } from '../../lib/cli/acme-order.ts'
import { parseConfig } from '../../lib/config/load.ts'
import { writeStanding } from '../../lib/tls/acme/standing.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('of an order that failed the reason, the next time and what to do are told in a line', async t => {
  const dataDir = temporaryDir(t)
  mkdirSync(join(dataDir, 'acme'))
  const configOf = (more: string) =>
    parseConfig(
      `hostname = "mail.ours.example"\naccount_domain = "ours.example"\ndata_dir = "${dataDir}"\n${more}`,
      'test',
    )
  const withAcme = configOf('[acme]\ndirectory = "https://ca.example/dir"\nterms_agreed = true')
  t.strictSame(await acmeFindings(withAcme), [], 'nothing was ordered')

  const failed = {
    failures: 1,
    notBefore: '9999-01-01T00:00:00.000Z',
    order: '{}',
    error: 'the CA says invalid: no\nroute',
    withoutAddress: [],
  }
  await writeStanding(dataDir, failed)
  t.strictSame(await acmeFindings(withAcme), [
    {
      level: 'warning',
      code: 'acme_failed',
      subject: 'mail.ours.example',
      message:
        'the last order of a certificate failed: the CA says invalid: no route; not tried again before 9999-01-01T00:00:00.000Z. It asks port 80 of each name, from anywhere: mailboxd must be reached there',
      paste: 'journalctl --unit mailboxd --grep ACME',
    },
  ])
  t.strictSame(await acmeFindings(configOf('')), [], 'certificates come from elsewhere now')

  const longer = {
    ...failed,
    failures: 7,
    error: 'x'.repeat(100_000),
    withoutAddress: ['mail.ours.example'],
  }
  await writeStanding(dataDir, longer)
  const [finding] = await acmeFindings(withAcme)
  t.match(finding, {
    message:
      /^the last 7 orders of a certificate failed: x{400}…; not tried again before 9999-01-01T00:00:00\.000Z, or when DNS has an address of mail\.ours\.example\. Publish/,
    paste: 'mailboxctl dns check',
  })

  await writeStanding(dataDir, { ...failed, notBefore: '2000-01-01T00:00:00.000Z' })
  t.match(await acmeFindings(withAcme), [{ message: /; mailboxd tries again within ten minutes\. / }])
  await writeStanding(dataDir, undefined)
  t.strictSame(await acmeFindings(withAcme), [], 'a certificate came')
})
