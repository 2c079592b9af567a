import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { createLog } from '../../../lib/base/log.ts'
import { SchemaFault } from '../../../lib/base/schema-fault.ts'
import { createNodes } from '../../../lib/core/nodes/nodes.ts'
import { endNode } from '../../../lib/store/nodes.ts'
import { openStore } from '../../../lib/store/open.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'

t.test(
  'a node that stood still while the database became that of a newer program works no more',
  { skip: without('postgres') },
  async t => {
    const store = await openStore(await newPostgresDatabase(migratedDatabase), systemClock)
    t.teardown(() => store.close())
    const node = createNodes({
      store,
      clock: systemClock,
      log: createLog('silent'),
      id: 'one',
      name: 'mx1',
      version: '0.1.0',
      settings: {},
      blobs: 'disk',
      bucketOwner: async () => '',
    })
    await node.join()
    t.equal(node.mayLease, true)
    const step = { number: 9001, name: 'harsh', breaking: 1, appliedAt: 'x' }
    await store.write(db => db.insertInto('migration').values(step).execute())
    // As the others do when its beat stands still.
    t.equal(await store.write(db => endNode(db, { id: 'one', generation: 1 }, 'gone')), true)
    node.watch(async () => {})
    t.teardown(() => node.leave())
    const failure = await node.failed
    t.type(failure, SchemaFault)
    t.match(failure.message, /migration 9001 \(harsh\) of a newer mailboxd/)
  },
)
