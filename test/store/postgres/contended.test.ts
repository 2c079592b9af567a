import { sql } from 'kysely'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { openStore } from '../../../lib/store/open.ts'
import { newPostgresDatabase } from '../../support/databases.ts'
import { without } from '../../support/peers.ts'
import { migratedDatabase } from '../../support/postgres.ts'

t.test(
  'who changes the same at three nodes all the time keeps nobody from writing something else',
  { skip: without('postgres') },
  async t => {
    const url = await newPostgresDatabase(migratedDatabase)
    const nodes = await Promise.all([1, 2, 3].map(() => openStore(url, systemClock, { connections: 10 })))
    t.teardown(() => Promise.all(nodes.map(node => node.close())))
    const [first] = nodes
    await first!.write(db =>
      sql`insert into "sweep" ("name", "heldBy") values ('counted', '0'), ('other', '0')`.execute(db),
    )
    let isOver = false
    let refused = 0
    let counted = 0
    const count = async (node: (typeof nodes)[number]) => {
      while (!isOver) {
        await node
          .write(async db => {
            const { rows } = await sql<{ heldBy: string }>`
              select "heldBy", pg_sleep(0.05) from "sweep" where "name" = 'counted'`.execute(db)
            const next = String(Number(rows[0]!.heldBy) + 1)
            await sql`update "sweep" set "heldBy" = ${next} where "name" = 'counted'`.execute(db)
          })
          .then(
            () => counted++,
            ({ name }) => name === 'StorageContended' && refused++,
          )
      }
    }
    const counting = nodes.flatMap(node => Array.from({ length: 14 }, () => count(node)))
    const others = await Promise.allSettled(
      nodes.map(async node => {
        for (let n = 0; n < 15; n++)
          await node.writeHolding(
            () => ({ names: ['other'] }),
            db => sql`update "sweep" set "heldBy" = ${String(n)} where "name" = 'other'`.execute(db),
          )
      }),
    )
    isOver = true
    await Promise.all(counting)
    t.comment(`${counted} counted, ${refused} put off`)
    t.strictSame(
      others.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'fulfilled'],
    )
    const { rows } = await sql`select "heldBy" from "sweep" where "name" = 'counted'`.execute(first!.read)
    t.strictSame(rows, [{ heldBy: String(counted) }])
    t.ok(counted > 0)
  },
)
