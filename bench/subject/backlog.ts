import { loadConfig } from '../../lib/config/load.ts'
import { createInbox } from '../../lib/core/account/inboxes.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { putDeliveries } from '../../lib/core/outbound/composing.ts'
import { send } from '../../lib/core/outbound/send.ts'
import { withInstallation } from './installation.ts'

const atOnce = 500

/** A tenth goes to sink.test, of the others a third each to servers that refuse for now, that nobody answers for, and that hang. */
export function triedDomain(n: number): string {
  if (n % 10 === 0) return 'sink.test'
  const kind = ['later', 'down', 'mute'][n % 3]
  return `${kind}${Math.floor(n / 3) % 1000}.test`
}

/** Fills the queue of a server that does not run with mail that is due, and was tried so many times before. */
export async function fillBacklog(
  configPath: string,
  count: number,
  domainOf: (n: number) => string,
  attempts: number,
): Promise<void> {
  const config = await loadConfig(configPath)
  await withInstallation(config, async app => {
    const inbox = await createInbox(app, operator, { mailboxName: 'backlog' })
    const { messageId } = await send(
      app,
      operator,
      inbox.id,
      { to: 'bob@sink.test', subject: 'old', body: 'x' },
      'k',
    )
    for (let done = 0; done < count; done += atOnce) {
      await app.store.write(async db => {
        const deliveries = Array.from({ length: atOnce }, (_, n) => ({
          id: app.ids.next(),
          messageId,
          recipient: `r${done + n}@${domainOf(done + n)}`,
          purpose: 'send',
          mailFrom: null,
        }))
        await putDeliveries(app, db, { id: inbox.id, podId: inbox.podId }, deliveries, app.clock.now())
      })
    }
    if (attempts === 0) return
    await app.store.write(async db => {
      const tried = { attempts, lane: 'slow' }
      await db.updateTable('queueEntry').set(tried).where('inboxId', '=', inbox.id).execute()
    })
  })
}
