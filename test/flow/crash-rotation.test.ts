import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { loadConfig } from '../../lib/config/load.ts'
import { openSecrets, secretOf } from '../../lib/core/app/secrets.ts'
import { databaseOf } from '../../lib/core/open-rows.ts'
import { findAccount } from '../../lib/store/account.ts'
import { openStore } from '../../lib/store/open.ts'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/**
 * Runs `secrets rotate`, and kills it at the `at`-th change in the data directory since the new key came; says whether it was, or came to its
 * end before that change, or before the kill came.
 */
async function rotateUntil(
  { configPath, dataDir }: TestDaemon,
  at: number,
): Promise<'killed' | 'too late' | 'no such change'> {
  let changes = 0
  const watcher = watch(dataDir)
  const child = spawn(
    process.execPath,
    [builtProgram('mailboxctl'), '--config', configPath, 'secrets', 'rotate', '--yes'],
    { stdio: 'ignore' },
  )
  watcher.on('change', (_type, name) => {
    if (changes > 0 || String(name).startsWith('secrets.key')) changes++
    if (changes === at) child.kill('SIGKILL')
  })
  const [, signal] = await once(child, 'exit')
  watcher.close()
  if (signal === 'SIGKILL') return 'killed'
  return changes < at ? 'no such change' : 'too late'
}

/** The secret that a daemon which starts now signs webhooks with. */
async function secretInForce({ configPath, dataDir }: TestDaemon): Promise<string> {
  const store = await openStore(await databaseOf(await loadConfig(configPath)), systemClock)
  try {
    const secrets = await openSecrets({ store, dataDir, clock: systemClock })
    const { id, webhookSecret } = (await findAccount(store.read))!
    return secrets.open(secretOf.accountWebhook(id), webhookSecret!)
  } finally {
    await store.close()
  }
}

/** From one change at which it is killed to the next. */
const step = 4

t.test('secrets rotate, killed at any moment: what was sealed is opened', async t => {
  const receiver = await startWebhookReceiver(t)
  const toml = '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]'
  let daemon = await startDaemon(t, { toml })
  const { secret } = await daemon.ctl('webhook', 'set', receiver.url)
  await daemon.end('SIGTERM')
  let kills = 0
  // Another quarter of the changes in each run.
  for (let at = 1 + randomInt(step); at < 100; at += step) {
    const end = await rotateUntil(daemon, at)
    t.equal(await secretInForce(daemon), secret, `after a kill at change ${at}`)
    if (end === 'no such change') break
    if (end === 'too late') continue
    kills++
    // The next begins with what this one left, and every fourth with what a daemon made of it.
    if (kills % 4 !== 0) continue
    daemon = await daemon.restart()
    await daemon.ctl('webhook', 'test')
    const { body, headers } = receiver.calls.at(-1)!
    t.ok(new Webhook(String(secret)).verify(body, headers as Record<string, string>), 'signed with it')
    await daemon.end('SIGTERM')
  }
  t.ok(kills > 1, `${kills} kills`)
  t.ok(receiver.calls.length > 0, 'daemons started, too')
})
