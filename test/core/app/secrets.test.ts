import { chmodSync, existsSync, globSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { SecretFault } from '../../../lib/base/secrets.ts'
import { SecretKeyFault } from '../../../lib/core/app/secret-key.ts'
import { openSecrets, secretOf } from '../../../lib/core/app/secrets.ts'
import { signerOf } from '../../../lib/core/outbound/composing.ts'
import { signDkim } from '../../../lib/mail/compose/dkim.ts'
import { findAccount } from '../../../lib/store/account.ts'
import { findDomain } from '../../../lib/store/domains.ts'
import { findWebhook } from '../../../lib/store/webhook-deliveries.ts'
import { type ApiApp, startApi } from '../../support/api-app.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { sealedText } from '../../support/rows.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'

const keyPath = ({ app }: ApiApp) => join(app.config.data_dir, 'secrets.key')
const databasePath = ({ app }: ApiApp) => join(app.config.data_dir, 'mailboxd.sqlite')

/** All that an installation has of secrets, in the clear. */
async function secretsOf({ app }: ApiApp, inboxId: string) {
  const db = app.store.read
  const account = (await findAccount(db))!
  const domain = (await findDomain(db, 'ours.example'))!
  const own = (await findWebhook(db, inboxId))!
  const accounts = (await findWebhook(db, null))!
  return {
    signing: app.secrets.open(secretOf.accountSigning(account.id), account.signingSecret),
    dkim: app.secrets.open(secretOf.domainDkim(domain.id), domain.dkimPrivateKey),
    inbox: app.secrets.open(own.place, own.secret),
    account: app.secrets.open(accounts.place, accounts.secret),
  }
}

async function withWebhooks(t: Test) {
  const started = await startApi(t)
  const url = 'https://hook.example.net/'
  const { body: inbox } = await started.api.post('/v1/inboxes', { webhookUrl: url })
  const { body: account } = await started.api.call('PUT', '/v1/webhook', { url })
  return { started, inbox, account }
}

/** Looks into every file of the database for what must not be seen there. */
function shown(path: string, secrets: Record<string, string>): string[] {
  const files = globSync(`${path}*`).map(file => readFileSync(file).toString('latin1'))
  // A long text is cut at the pages of the file.
  return Object.keys(secrets).filter(name =>
    (secrets[name]!.match(/[^\n]{40,64}/g) ?? [secrets[name]!]).some(part =>
      files.some(file => file.includes(part.slice(0, 40))),
    ),
  )
}

t.test('no secret stands in the files of the database, and all work', async t => {
  const { started, inbox, account } = await withWebhooks(t)
  const secrets = await secretsOf(started, inbox.id)
  t.equal(secrets.inbox, inbox.webhookSecret)
  t.equal(secrets.account, account.secret)
  t.match(secrets.dkim, /^-----BEGIN PRIVATE KEY-----/)
  t.equal(secrets.signing.length, 43)
  const former = (await started.api.post(`/v1/inboxes/${inbox.id}/webhook/rotate-secret`)).body.webhookSecret
  t.equal((await secretsOf(started, inbox.id)).inbox, former)
  t.strictSame(shown(databasePath(started), { ...secrets, former }), [], 'with the log')
  const signer = await signerOf(started.app, 'a@ours.example', started.clock.now())
  const signed = await signDkim(Buffer.from('From: a@ours.example\r\n\r\nx\r\n'), signer)
  t.match(signed.toString(), /^DKIM-Signature: /)
  t.equal(statSync(keyPath(started)).mode & 0o777, 0o600)
  const again = await started.restart()
  t.strictSame(await secretsOf(again, inbox.id), { ...secrets, inbox: former }, 'after a restart, too')
  await again.close()
  t.strictSame(shown(databasePath(again), secrets), [])
})

t.test('once sealed, plain text that somebody puts into the database is no secret', async t => {
  const { started, inbox } = await withWebhooks(t)
  const { app } = started
  await app.store.write(db =>
    db
      .updateTable('inbox')
      .set({ webhookSecret: sealedText('whsec_planted') })
      .execute(),
  )
  await t.rejects(secretsOf(started, inbox.id), SecretFault)
  await t.rejects(secretsOf(await started.restart(), inbox.id), SecretFault, 'nor after a start')
})

t.test('a key that is missing, damaged or another is refused, and never made anew', async t => {
  const { started } = await withWebhooks(t)
  await started.close()
  const path = keyPath(started)
  const aside = `${path}.aside`
  renameSync(path, aside)
  await t.rejects(started.restart(), {
    name: 'SecretKeyFault',
    message: /secrets\.key is missing, .*: restore it from the backup/,
  })
  t.notOk(existsSync(path))
  for (const text of ['', 'x'.repeat(64), readFileSync(aside, 'latin1').slice(1)]) {
    writeFileSync(path, text)
    await t.rejects(started.restart(), { name: 'SecretKeyFault', message: /is damaged: it must hold 64/ })
  }
  writeFileSync(path, `${'ab'.repeat(32)}\n`)
  await t.rejects(started.restart(), {
    name: 'SecretKeyFault',
    message:
      /is not the key of this database: it is [0-9a-f]{8}, and the database was sealed under [0-9a-f]{8}/,
  })
  renameSync(aside, path)
  chmodSync(path, 0o600)
  const again = await started.restart()
  await again.close()
  t.strictSame(globSync(`${path}*`).length, 1, 'and no temporary file stays')
})

onEveryDatabase('of processes that begin at once, one makes the key', async (t, store) => {
  const dataDir = temporaryDir(t)
  const { clock } = (await startApi(t)).app
  const open = () => openSecrets({ store, dataDir, clock })
  const boxes = await Promise.all([open(), open(), open(), open()])
  const [first] = boxes
  const place = secretOf.accountSigning('one')
  const sealed = first!.seal(place, 's')
  for (const box of boxes) {
    t.equal(box.keyId, first!.keyId)
    t.equal(box.open(place, sealed), 's')
  }
  await t.rejects(openSecrets({ store, dataDir: temporaryDir(t), clock }), SecretKeyFault)
})
