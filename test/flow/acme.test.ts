import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { startPebble } from '../support/pebble.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

t.test(
  'a daemon gets its certificate by itself and shows it without a restart',
  { skip: without('pebble') },
  async t => {
    const pebble = await startPebble(t)
    // What an operator sets for a CA whose own certificate is not from a public one.
    process.env.NODE_EXTRA_CA_CERTS = pebble.caPath
    t.teardown(() => delete process.env.NODE_EXTRA_CA_CERTS)
    const toml = `[acme]
directory = "${pebble.directory}"
terms_agreed = true
listen = ["127.0.0.1:${pebble.httpPort}"]`
    const daemon = await startDaemon(t, { toml })
    const issuer = async () => {
      const dialog = await greetedDialog(daemon.smtpPort)
      const shown = await dialog.startTls()
      dialog.vanish()
      return shown.issuer
    }
    t.match(
      await until('the new certificate', async () =>
        (await issuer()).includes('Pebble') ? issuer() : undefined,
      ),
      /Pebble Intermediate/,
    )
    t.strictSame(
      daemon.log().filter(entry => entry.level === 'error'),
      [],
    )
    await daemon.end('SIGTERM')
    const again = await daemon.restart()
    const dialog = await greetedDialog(again.smtpPort)
    t.match((await dialog.startTls()).issuer, /Pebble Intermediate/, 'at once after a restart')
    t.notOk(again.log().some(entry => entry.msg === 'ACME: a certificate is ordered'))
    t.equal(await again.end('SIGTERM'), 0)

    writeFileSync(
      daemon.configPath,
      readFileSync(daemon.configPath, 'utf8').replace('terms_agreed = true', ''),
    )
    const refused = await daemon.ctlResult('config', 'check')
    t.equal(refused.code, 78)
    t.match(refused.stderr, /acme\.terms_agreed/)
  },
)

t.test('the doctor and the list of certificates tell of an order that failed', async t => {
  const directory = `https://127.0.0.1:${await freePort('127.0.0.1')}/dir`
  const daemon = await startDaemon(t, {
    toml: `[acme]
directory = "${directory}"
terms_agreed = true
listen = ["127.0.0.1:${await freePort('127.0.0.1')}"]`,
  })
  await until('the failed order', () =>
    daemon.log().some(({ msg }) => /^ACME: no certificate/.test(String(msg))),
  )
  const { findings } = JSON.parse((await daemon.ctlResult('doctor')).stdout)
  const found = findings.find(({ code }: { code: string }) => code === 'acme_failed')
  t.match(found, {
    level: 'warning',
    message:
      /^the last order of a certificate failed: no answer from https:.*; not tried again before \d{4}-/,
  })
  t.match((await daemon.ctl('tls', 'list')).data, [{ problem: /^not issued yet: no answer from https:/ }, {}])
})
