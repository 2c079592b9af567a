import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { StorageContended, StorageLocked, StorageUnreachable } from '../../lib/base/faults.ts'
import { Reply } from '../../lib/base/reply.ts'
import { createAnswerer, createCaller } from '../../lib/base/threads.ts'

/** Two ends, all between them as it crosses from one thread to another. */
function connect() {
  const posts: number[] = []
  const functions = {
    async double(what: number): Promise<number> {
      return what * 2
    },
    async refuse(what: string): Promise<never> {
      throw new Reply(451, '4.7.1', 'Not now', what)
    },
    async reach(what: string): Promise<never> {
      throw new StorageUnreachable(new Error(what))
    },
    async contend(what: string): Promise<never> {
      throw new StorageContended(new Error(what), '40001')
    },
    async lock(what: string): Promise<never> {
      throw new StorageLocked({ cause: new Error(what) })
    },
    async fail(what: string): Promise<never> {
      throw new TypeError(what)
    },
  }
  const { call, settle } = createCaller<typeof functions>(calls => {
    posts.push(calls.length)
    answer(structuredClone(calls))
  })
  const answer = createAnswerer(functions, answers => settle(structuredClone(answers)))
  return { call, posts }
}

t.test('calls of one turn of the event loop cross together', async t => {
  const { call, posts } = connect()
  t.strictSame(await Promise.all([1, 2, 3].map(number => call('double', number))), [2, 4, 6])
  await setImmediate()
  t.equal(await call('double', 4), 8)
  t.strictSame(posts, [3, 1])
})

t.test('what refuses over there refuses here', async t => {
  const { call } = connect()
  const refused = await call('refuse', 'for the log').catch((error: unknown) => error)
  t.ok(refused instanceof Reply)
  t.match(refused, { code: 451, enhanced: '4.7.1', text: 'Not now', reason: 'for the log' })
  const unreached = await call('reach', 'it is gone').catch((error: unknown) => error)
  t.ok(unreached instanceof StorageUnreachable)
  t.match(unreached, { message: 'the server of the database can not be asked: it is gone' })
  const contended = await call('contend', 'others did').catch((error: unknown) => error)
  t.ok(contended instanceof StorageContended)
  t.match(contended, { message: 'the database did not come to it: others did', code: '40001' })
  const locked = await call('lock', 'SQLITE_BUSY').catch((error: unknown) => error)
  t.ok(locked instanceof StorageLocked)
  t.match(locked, { message: /keeps the database locked/, cause: 'Error: SQLITE_BUSY' })
  await t.rejects(call('fail', 'a fault'), new TypeError('a fault'))
})
