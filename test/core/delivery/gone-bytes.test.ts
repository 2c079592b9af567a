import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { claim } from '../../support/claim.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test('what was to be sent is gone from the disk: its delivery fails with that reason, at once', async t => {
  const { app, inbox, dataDir, log } = await openDoor(t)
  const ann = await inbox('ann')
  await inbox('bea')
  // Large, so that its bytes are a file.
  const body = `${'x'.repeat(70)}\n`.repeat(8_000)
  for (const to of ['bob@theirs.example', 'bea@ours.example']) {
    const { messageId } = await send(app, operator, ann, { to, subject: 's', body }, to)
    const [file] = await app.blobs.list()
    rmSync(join(dataDir, 'raw', file!.slice(-2)), { recursive: true })
    // Where nothing is, the disk is not mounted, and then nothing is gone.
    mkdirSync(join(dataDir, 'raw', file!.endsWith('00') ? '11' : '00'), { recursive: true })
    const [entry] = await claim(app.queue, 'delivery')
    await deliver(app, entry!)
    const [delivery] = await listMessageDeliveries(app, operator, messageId)
    t.match(delivery, {
      state: 'failed',
      attempts: 1,
      replyText: 'not sent: the bytes of this message are gone from this server',
    })
    const { status } = await app.store.read
      .selectFrom('message')
      .select('status')
      .where('id', '=', messageId)
      .executeTakeFirstOrThrow()
    t.equal(status, 'failed')
  }
  t.strictSame(
    await app.store.read.selectFrom('queueEntry').selectAll().where('kind', '=', 'delivery').execute(),
    [],
  )
  t.equal(log.filter(({ msg }) => /bytes of a message are gone/.test(String(msg))).length, 2)
})
