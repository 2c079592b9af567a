import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { watch } from 'node:fs'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { startDaemon, type TestDaemon } from '../support/daemon.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/** Runs `secrets rotate`, and kills it at the `at`-th change in the data directory since the new key came; says whether it was. */
async function rotateUntil({ configPath, dataDir }: TestDaemon, at: number): Promise<boolean> {
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
  return signal === 'SIGKILL'
}

t.test('secrets rotate, killed at any moment: the daemon opens what was sealed', async t => {
  const receiver = await startWebhookReceiver(t)
  const toml = '[webhook]\nallow_http = true\nallow_networks = ["127.0.0.0/8"]'
  let daemon = await startDaemon(t, { toml })
  const { secret } = await daemon.ctl('webhook', 'set', receiver.url)
  let kills = 0
  for (let at = 1; at < 100; at += 3) {
    await daemon.end('SIGTERM')
    const isKilled = await rotateUntil(daemon, at)
    daemon = await daemon.restart()
    await daemon.ctl('webhook', 'test')
    const { body, headers } = receiver.calls.at(-1)!
    const said = new Webhook(String(secret)).verify(body, headers as Record<string, string>)
    t.ok(said, `signed with the secret that was given, after a kill at change ${at}`)
    // It came to its end: there are no more moments to kill it at.
    if (!isKilled) break
    kills++
  }
  t.ok(kills > 1, `${kills} kills`)
})
