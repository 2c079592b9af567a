import t from 'tap'
import { StorageUnreachable } from '../../../lib/base/faults.ts'
import { inServerTime } from '../../../lib/core/app/server-time.ts'
import { dropFilesOf } from '../../../lib/core/mailbox/raws.ts'
import { startApi } from '../../support/api-app.ts'

t.test('a server is not waited for without end, a disk is', async t => {
  const on = (dialect: 'postgres' | 'sqlite') => ({ store: { dialect } })
  await t.rejects(inServerTime(on('postgres'), new Promise(() => {}), 1), StorageUnreachable)
  t.equal(await inServerTime(on('postgres'), Promise.resolve('done'), 60_000), 'done')
  const disk = Promise.withResolvers<string>()
  const waiting = inServerTime(on('sqlite'), disk.promise, 0)
  setImmediate(() => setImmediate(() => disk.resolve('synced')))
  t.equal(await waiting, 'synced')
})

t.test('bytes stay where nobody knows whether their row was committed', async t => {
  const { app } = await startApi(t)
  const removed: string[] = []
  const blobs = {
    remove: async (id: string) => {
      removed.push(id)
      return true
    },
  }
  const watched = Object.create(app, { blobs: { value: blobs } })
  await dropFilesOf(watched, new StorageUnreachable(new Error('Connection terminated')), ['one'])
  t.strictSame(removed, [])
  await dropFilesOf(watched, new Error('a rule of ours'), ['two'])
  t.strictSame(removed, ['two'])
})
