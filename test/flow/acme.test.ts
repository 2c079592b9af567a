import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { startPebble } from '../support/pebble.ts'
import { without } from '../support/peers.ts'
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
