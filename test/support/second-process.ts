import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { createIds } from '../../lib/base/ids.ts'
import { createLog } from '../../lib/base/log.ts'
import { Problem } from '../../lib/base/problem.ts'
import { systemClock } from '../../lib/base/time.ts'
import type { Config } from '../../lib/config/load.ts'
import { createInbox } from '../../lib/core/account/inboxes.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { rotateSecrets } from '../../lib/core/app/rotation.ts'
import { createDomain } from '../../lib/core/domains/domains.ts'
import { openApp } from '../../lib/core/open.ts'
import { rotateAccountSecret, setAccountWebhook } from '../../lib/core/webhooks/settings.ts'

/** A program beside the one that a test is: opens the App of a configuration, says so, and when it is told to, stores secrets. */
const config = JSON.parse(process.argv[2]!) as Config
const { app } = await openApp({
  mayMigrate: true,
  config,
  clock: systemClock,
  ids: createIds(systemClock),
  log: createLog('silent'),
  random: Math.random,
  baseUrl: () => 'http://127.0.0.1',
  ownPorts: () => [],
})
const url = 'https://hook.example.net/'
const works = {
  'a webhook of the account': () => setAccountWebhook(app, url),
  'another secret of it': () => rotateAccountSecret(app),
  'a webhook of an inbox': () => createInbox(app, operator, { webhookUrl: url }),
  'a domain': () => createDomain(app, operator, { domain: 'another.example.com' }),
  'another key': () => rotateSecrets(app),
}
console.log('open')
await once(createInterface(process.stdin), 'line')
for (const [name, work] of Object.entries(works)) {
  const said = await work().then(
    () => 'done',
    error => (error instanceof Problem ? error.code : String(error)),
  )
  console.log(`${name}: ${said}`)
}
process.exit()
