import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { findFile, openRaw } from '../../../lib/core/mailbox/raws.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { claim } from '../../support/claim.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'
import { nodeRow, putNodeRow } from '../../support/rows.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test(
  'what was to be sent may be on the disk of another node: it waits, with that reason',
  { skip: without('postgres') },
  async t => {
    const database = await newPostgresDatabase(migratedDatabase)
    const { app, inbox, dataDir } = await openDoor(t, { database })
    const ann = await inbox('ann')
    await inbox('bea')
    const now = new Date().toISOString()
    await app.store.write(db =>
      // It has stopped, and may come back.
      putNodeRow(db, nodeRow('other', { state: 'stopped' })),
    )
    t.equal(
      await findFile(app, { id: app.ids.next(), sizeBytes: 9, sha256: '' }),
      undefined,
      'what has no row is nowhere',
    )
    const body = `${'x'.repeat(70)}\n`.repeat(8_000)
    for (const to of ['bob@theirs.example', 'bea@ours.example']) {
      const { messageId } = await send(app, operator, ann, { to, subject: 's', body }, to)
      const [file] = await app.blobs.list()
      rmSync(join(dataDir, 'raw', file!.slice(-2)), { recursive: true })
      // Where nothing is, the disk is not mounted.
      mkdirSync(join(dataDir, 'raw', file!.endsWith('00') ? '11' : '00'), { recursive: true })
      await t.rejects(openRaw(app, operator, messageId, { withTrace: false }), {
        name: 'BytesElsewhere',
        message: /another node may have them/,
      })
      const [entry] = await claim(app.queue, 'delivery')
      await deliver(app, entry!)
      const [delivery] = await listMessageDeliveries(app, operator, messageId)
      t.match(delivery, {
        state: 'deferred',
        attempts: 1,
        replyText: 'not sent yet: the bytes of this message are not here, and may be at another node',
      })
      t.ok(delivery!.nextAttemptAt! > now)
    }

    const { messageId } = await send(
      app,
      operator,
      ann,
      { to: 'bob@theirs.example', subject: 's', body },
      'last',
    )
    const [entry] = await claim(app.queue, 'delivery')
    const broken = Object.create(app, {
      blobs: { value: { ...app.blobs, find: () => Promise.reject(new Error('EIO: i/o error')) } },
    })
    await t.rejects(deliver(broken, entry!), /EIO/, 'what is here and can not be read is another matter')
    const [delivery] = await listMessageDeliveries(app, operator, messageId)
    t.match(delivery, { attempts: 0, replyText: null })
  },
)
