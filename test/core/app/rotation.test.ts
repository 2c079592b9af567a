import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import t, { type Test } from 'tap'
import { rotateSecrets } from '../../../lib/core/app/rotation.ts'
import { openSecrets, secretOf } from '../../../lib/core/app/secrets.ts'
import { findAccount } from '../../../lib/store/account.ts'
import { lockDataDirectory } from '../../../lib/store/dialect/lock.ts'
import { findDomain } from '../../../lib/store/domains.ts'
import { findWebhook } from '../../../lib/store/webhook-deliveries.ts'
import { startApi } from '../../support/api-app.ts'

async function setUp(t: Test) {
  const { app, api } = await startApi(t)
  const { body: inbox } = await api.post('/v1/inboxes', { webhookUrl: 'https://hook.example.net/' })
  await api.call('PUT', '/v1/webhook', { url: 'https://hook.example.net/' })
  const dataDir = app.config.data_dir
  const path = join(dataDir, 'secrets.key')
  const key = () => readFileSync(path, 'utf8')
  /** What a process that starts now has of all secrets, in the clear. */
  async function opened() {
    const { store, clock } = app
    const box = await openSecrets({ store, dataDir, clock })
    const account = (await findAccount(store.read))!
    const domain = (await findDomain(store.read, 'ours.example'))!
    const [own, accounts] = [
      (await findWebhook(store.read, inbox.id))!,
      (await findWebhook(store.read, null))!,
    ]
    return [
      box.open(secretOf.accountSigning(account.id), account.signingSecret),
      box.open(secretOf.domainDkim(domain.id), domain.dkimPrivateKey),
      box.open(own.place, own.secret),
      box.open(accounts.place, accounts.secret),
    ]
  }
  return { app, dataDir, path, key, opened, before: await opened() }
}

t.test('all secrets are under a new key, and the old one opens none', async t => {
  const { app, path, key, opened, before } = await setUp(t)
  const old = key()
  // The domain has two keys.
  t.match(await rotateSecrets(app), { count: 5 })
  t.not(key(), old)
  t.strictSame(await opened(), before)
  t.notOk(existsSync(`${path}.next`))
  writeFileSync(path, old)
  await t.rejects(opened(), /is not the key of this database/)
})

t.test('it is refused while a daemon runs', async t => {
  const { app, dataDir, key, opened, before } = await setUp(t)
  const old = key()
  const unlock = lockDataDirectory(join(dataDir, 'daemon.lock'))
  await t.rejects(rotateSecrets(app), { code: 'unavailable', message: /stop it first/ })
  unlock()
  t.equal(key(), old)
  t.strictSame(await opened(), before)
})

t.test('cut off before the write: the old key is in force, and it can be done again', async t => {
  const { app, path, key, opened, before } = await setUp(t)
  const old = key()
  const broken = Object.create(app, {
    store: { value: { ...app.store, write: () => Promise.reject(new Error('killed')) } },
  })
  await t.rejects(rotateSecrets(broken), /killed/)
  t.ok(existsSync(`${path}.next`), 'the new key is on the disk before anything is sealed under it')
  t.equal(key(), old)
  t.strictSame(await opened(), before)
  await rotateSecrets(app)
  t.strictSame(await opened(), before)
})

t.test('cut off behind the write: the next start puts the new key in place', async t => {
  const { app, path, key, opened, before } = await setUp(t)
  const old = key()
  let next = ''
  const broken = Object.create(app, {
    store: {
      value: {
        ...app.store,
        write: async (work: Parameters<typeof app.store.write>[0]) => {
          await app.store.write(work)
          next = readFileSync(`${path}.next`, 'utf8')
          throw new Error('killed')
        },
      },
    },
  })
  await t.rejects(rotateSecrets(broken), /killed/)
  t.equal(key(), old)
  t.strictSame(await opened(), before)
  t.equal(key(), next)
  t.notOk(existsSync(`${path}.next`))
  // Killed between the two files of the last step, or with the old key gone.
  writeFileSync(`${path}.next`, next)
  t.strictSame(await opened(), before)
  rmSync(path)
  t.strictSame(await opened(), before)
  t.equal(key(), next)
})

/** Another program on the same data, which has taken its key by now; what it said of each secret that it was told to store. */
async function openBeside(t: Test, config: object): Promise<{ store: () => Promise<string[]> }> {
  const script = join(import.meta.dirname, '../../support/second-process.ts')
  const child = spawn(process.execPath, [script, JSON.stringify(config)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)
  await once(lines, 'line')
  return {
    async store() {
      const said: string[] = []
      lines.on('line', line => said.push(line))
      child.stdin.end('now\n')
      await once(lines, 'close')
      return said
    },
  }
}

t.test('a program that began before it stores nothing under the old key', async t => {
  const { app, opened, before } = await setUp(t)
  const stale = await openBeside(t, app.config)
  await rotateSecrets(app)
  t.strictSame(await stale.store(), [
    // It has its secret, and only the URL is set.
    'a webhook of the account: done',
    'another secret of it: unavailable',
    'a webhook of an inbox: unavailable',
    'a domain: unavailable',
    'another key: unavailable',
  ])
  t.strictSame(await opened(), before)
})

t.test('one that began after it stores as ever', async t => {
  const { app, opened, before } = await setUp(t)
  await rotateSecrets(app)
  const fresh = await openBeside(t, app.config)
  t.strictSame(
    (await fresh.store()).map(line => line.split(': ')[1]),
    ['done', 'done', 'done', 'done', 'done'],
  )
  const [signing, dkim, own, accounts] = await opened()
  t.strictSame([signing, dkim, own], before.slice(0, 3))
  t.not(accounts, before[3])
})
