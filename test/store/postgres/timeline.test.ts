import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import t, { type Test } from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { openReader, openStore } from '../../../lib/store/open.ts'
import { followHold } from '../../../lib/store/postgres/followed-hold.ts'
import { holdNode } from '../../../lib/store/postgres/hold.ts'
import { judgeByNewest, keepNewestTimeline } from '../../../lib/store/postgres/timeline.ts'
import { without } from '../../support/peers.ts'
import { promote, type Replicated, startReplicated } from '../../support/postgres.ts'
import { until } from '../../support/until.ts'

const skip = without('postgres')

const urlOf = (...servers: readonly Replicated[]) =>
  `postgres://postgres@${servers.map(({ url }) => new URL(url).host).join(',')}/migrated`

async function holding(t: Test, url: string, timelinePath: string) {
  const warned: string[] = []
  const requireSame = async () => {}
  const warn = (sentence: string) => warned.push(sentence)
  const parts = { url, timelinePath, node: 'n', newestStep: 1, clock: systemClock, requireSame, warn }
  const hold = await holdNode(parts)
  t.teardown(() => hold.release())
  await hold.letOthersStart()
  return { hold, warned }
}

const old =
  /it is a primary of before a failover \(timeline 1, and this node knows of 2\): .*remove \S+timeline there/

t.test(
  'of two primaries the one that was promoted last is asked, and no other any more',
  { skip },
  async t => {
    const { primary, standby } = await startReplicated()
    t.teardown(() => Promise.all([primary.stop(), standby.stop()]))
    const [first, second] = [urlOf(primary), urlOf(standby)]
    const path = join(t.testdir(), 'timeline')
    const { hold, warned } = await holding(t, urlOf(primary, standby), path)
    t.match(hold.held, { url: first, timeline: { number: 1 } })
    const store = await openStore(urlOf(primary, standby), systemClock, { outage: { hold } })
    t.teardown(() => store.close())
    const serverAsked = async () =>
      (await sql<{ port: string }>`select current_setting('port') as "port"`.execute(store.read)).rows[0]
        ?.port
    t.equal(await serverAsked(), new URL(first).port)

    await promote(standby)
    await until('the new one to be asked', () =>
      hold.server().then(
        ({ url }) => url === second,
        () => false,
      ),
    )
    t.equal(await serverAsked(), new URL(second).port, 'though the old one answers')
    t.match(readFileSync(path, 'utf8'), /^\d+ 2\n$/)

    await standby.end('SIGKILL')
    await until('it to be told that the old one is there, which is no way out', () => warned.length > 0)
    t.match(warned, [old])
    await t.rejects(store.read.selectFrom('migration').selectAll().execute(), {
      name: 'StorageUnreachable',
      message: old,
    })
    const judge = await judgeByNewest(path)
    const command = openStore(first, systemClock, { outage: { judge } })
    await t.rejects(command, { name: 'StorageUnreachable', message: old }, 'a command asks it neither')
    await standby.start()
    await until('the new one again', () => hold.server().catch(() => undefined))
    t.equal(await serverAsked(), new URL(second).port)
    t.equal(warned.length, 1, 'told once')
    await hold.release()

    await t.rejects(holding(t, first, path), { name: 'StorageUnreachable', message: old }, 'after a restart')
    const fresh = join(t.testdir({ fresh: {} }), 'timeline')
    const { hold: newcomer } = await holding(t, urlOf(primary, standby), fresh)
    t.match(newcomer.held, { url: second }, 'who knows of none looks at all of them')
    await newcomer.release()
    const { read, close } = await openReader(first, undefined, followHold({ ...newcomer.held, url: first }))
    await t.rejects(read.selectFrom('migration').selectAll().execute(), {
      name: 'StorageUnreachable',
      message: /another server answers there/,
    })
    await close()
    rmSync(path)
    const { hold: back } = await holding(t, first, path)
    t.match(back.held, { url: first }, 'the operator has the last word')
  },
)

t.test('what a server does not say, or another cluster says, keeps nobody out', async t => {
  const path = join(t.testdir({ timeline: 'no timeline\n' }), 'timeline')
  const warn = (sentence: string) => t.fail(sentence)
  const newest = await keepNewestTimeline(path, warn)
  newest.judge({ system: '7', number: 1 })
  await newest.remember({ system: '7', number: 4 })
  newest.judge(undefined)
  await newest.remember(undefined)
  newest.judge({ system: '7', number: 4 })
  newest.judge({ system: '8', number: 1 })
  for (const judge of [newest.judge, (await keepNewestTimeline(path, warn)).judge, await judgeByNewest(path)])
    t.throws(() => judge({ system: '7', number: 3 }), { name: 'OldPrimary' })
  await newest.remember({ system: '8', number: 1 })
  newest.judge({ system: '7', number: 3 })
})

t.test('a disk that keeps nothing is told, and what is known lasts as long as the process', async t => {
  const warned: string[] = []
  const newest = await keepNewestTimeline(join(t.testdir(), 'gone', 'timeline'), one => warned.push(one))
  await newest.remember({ system: '7', number: 4 })
  t.match(warned, [/can not be kept in .*gone\/timeline \(ENOENT/])
  t.throws(() => newest.judge({ system: '7', number: 3 }), { name: 'OldPrimary' })
})
