import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { createMemoryBudget, type MemoryHold, ownerOf } from '../../lib/http/memory.ts'
import { httpBytesPerKey } from '../../lib/http/server.ts'
import { startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

const patient = 60_000

/** A budget of 100 bytes, 40 for each key, and what enters it: for `key@pod`. */
function budgetOf(t: Test, waitMs = patient) {
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  let now = 0
  const clock = { monotonicMs: () => now }
  const memory = createMemoryBudget({ bytes: 100, bytesPerKey: 40, waitMs }, clock)
  const cuts: string[] = []
  const open = (name: string): MemoryHold => {
    const [key, pod] = name.split('@')
    return memory.open({ key: key!, pod })
  }
  const enter = (name: string, bytes: number, more: { signal?: AbortSignal } = {}) => {
    const hold = open(name)
    const entered = { hold, isIn: false, error: undefined as unknown }
    const done = hold
      .enter(bytes, () => more.signal ?? ended.signal)
      .then(() => {
        entered.isIn = true
        hold.allowCut(() => void cuts.push(name))
      })
      .catch(error => {
        entered.error = error
      })
    return { entered, done }
  }
  /** Everything that can enter has done so then. */
  const settled = () => new Promise(resolve => setImmediate(resolve))
  const pass = (ms: number) => {
    now += ms
  }
  return { memory, open, enter, cuts, settled, pass }
}

t.test('who has no room waits until there is some, in his turn, and others do not wait for him', async t => {
  const { enter, settled } = budgetOf(t)
  const first = enter('a', 30)
  const second = enter('a', 20)
  const third = enter('a', 5)
  const other = enter('b', 40)
  await settled()
  t.ok(first.entered.isIn)
  t.ok(other.entered.isIn, 'another key')
  t.notOk(second.entered.isIn, 'over the share')
  t.notOk(third.entered.isIn, 'nobody is overtaken by who shares with him')
  first.entered.hold.become(10)
  await settled()
  t.ok(second.entered.isIn, 'what was taken to be more')
  t.ok(third.entered.isIn)
  const more = enter('a', 30)
  await settled()
  t.notOk(more.entered.isIn)
  second.entered.hold.leave()
  first.entered.hold.leave()
  first.entered.hold.leave()
  first.entered.hold.become(40)
  await settled()
  t.ok(more.entered.isIn)
  const last = enter('a', 5)
  await settled()
  t.ok(last.entered.isIn, 'who has left takes nothing any more')
})

t.test('who has nothing may have an answer of any size', async t => {
  const { enter, settled } = budgetOf(t)
  const large = enter('a', 1000)
  await settled()
  t.ok(large.entered.isIn)
})

t.test('a pod leaves as much memory free as its keys hold', async t => {
  const { enter, settled } = budgetOf(t)
  const [a, b, c] = [enter('a@p', 30), enter('b@p', 20), enter('c@p', 30)]
  const other = enter('d@q', 30)
  await settled()
  t.strictSame(
    [a, b, c, other].map(({ entered }) => entered.isIn),
    [true, true, false, true],
  )
  a.entered.hold.leave()
  await settled()
  t.notOk(c.entered.isIn, 'less is free than the pod would hold')
  other.entered.hold.leave()
  await settled()
  t.ok(c.entered.isIn)
})

t.test('what grows is refused where a key, a pod or all hold too much', async t => {
  const { memory, open } = budgetOf(t)
  const first = open('a')
  first.grow(35)
  const second = open('a')
  second.grow(5)
  t.throws(() => second.grow(6), { code: 'rate_limit_exceeded' })
  second.grow(5)
  const others = ['b', 'c'].map(key => open(key))
  others[0]!.grow(40)
  t.throws(() => others[1]!.grow(40), { code: 'unavailable' })
  for (const hold of [first, second, ...others]) hold.leave()
  t.equal(memory.held(), 0)
  // However many keys a pod has, a pod that holds nothing finds memory.
  const pods = ['p', 'q', 'r'].map(pod => [open(`${pod}1@${pod}`), open(`${pod}2@${pod}`)])
  pods[0]![0]!.grow(25)
  pods[0]![1]!.grow(25)
  t.throws(() => pods[0]![1]!.grow(26), { code: 'rate_limit_exceeded' })
  pods[1]![0]!.grow(12)
  pods[1]![1]!.grow(13)
  t.throws(() => pods[1]![1]!.grow(14), { code: 'rate_limit_exceeded' })
  pods[2]![0]!.grow(25)
  t.throws(() => open('z').grow(1), { code: 'unavailable' })
})

t.test('who waits too long for his own room is refused, and takes nothing', async t => {
  const { enter, cuts } = budgetOf(t, 1)
  const first = enter('a', 40)
  const second = enter('a', 40)
  await second.done
  t.match(second.entered.error, { code: 'rate_limit_exceeded', more: { retryAfterSeconds: 1 } })
  t.strictSame(cuts, [])
  first.entered.hold.leave()
  const third = enter('a', 40)
  await third.done
  t.ok(third.entered.isIn)
})

t.test('the oldest holds are cut for the memory of all, once they are old enough', async t => {
  const { memory, open, enter, cuts, settled, pass } = budgetOf(t, 1)
  const all = [enter('a', 40), enter('b', 40), enter('c', 20)]
  for (const { done } of all) await done
  const early = enter('d', 20)
  await early.done
  t.match(early.entered.error, { code: 'unavailable' }, 'all of them are new')
  pass(1)
  const late = enter('d', 20)
  await late.done
  t.ok(late.entered.isIn)
  t.strictSame(cuts, ['a'], 'no more than are needed')
  t.equal(memory.held(), 80)
  const growing = open('e')
  growing.grow(35)
  t.strictSame(cuts, ['a', 'b'], 'for what grows, too')
  all[2]!.entered.hold.leave()
  open('f').grow(20)
  await settled()
  t.strictSame(cuts, ['a', 'b'], 'what has left is not cut')
  const whole = open('g')
  const end = growing.allowCut(() => void cuts.push('e'))
  end()
  pass(1)
  whole.grow(40)
  t.strictSame(cuts, ['a', 'b', 'd'])
  t.throws(() => open('h').grow(40), { code: 'unavailable' }, 'nor what allows it no more')
  t.strictSame(cuts, ['a', 'b', 'd'])
})

t.test('who has gone waits no more', async t => {
  const { enter, settled } = budgetOf(t)
  enter('a', 40)
  const gone = new AbortController()
  const waiting = enter('a', 40, { signal: gone.signal })
  const next = enter('a', 1)
  await settled()
  const why = new Error('gone')
  gone.abort(why)
  await waiting.done
  t.equal(waiting.entered.error, why)
  t.notOk(next.entered.isIn)
  const late = enter('a', 40, { signal: gone.signal })
  await late.done
  t.equal(late.entered.error, why)
})

t.test('memory is counted for the key and its pod, or for the address without a key', async t => {
  t.strictSame(ownerOf(undefined, '192.0.2.1'), { key: 'address 192.0.2.1', pod: undefined })
  t.strictSame(ownerOf({ keyId: 'k', podId: null, inboxId: null }, ''), { key: 'key k', pod: undefined })
  t.strictSame(ownerOf({ keyId: 'k', podId: 'p', inboxId: 'i' }, ''), { key: 'key k', pod: 'pod p' })
})

async function ask(
  t: Test,
  port: number,
  path: string,
  token: string,
): Promise<{ socket: Socket; read: () => number }> {
  const socket = connect({ port, host: '127.0.0.1' })
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  let bytes = 0
  // The beginning of an answer is read, and nothing after it.
  socket.once('data', chunk => {
    bytes += chunk.length
    socket.pause()
  })
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`)
  return { socket, read: () => bytes }
}

t.test('attachments that nobody reads are held so many at a time for each key', async t => {
  const { api, app, port, token, faults } = await startApi(t)
  const other = (await createKey(app, operator, { account: true }, null)).token
  const inbox = (await api.post('/v1/inboxes', {})).body.id
  const content = Buffer.alloc(24_000_000, 'x').toString('base64')
  const draft = { attachments: [{ filename: 'a.bin', content }] }
  const { body } = await api.post(`/v1/inboxes/${inbox}/drafts`, draft)
  const { pathname } = new URL(body.attachments[0].url)
  const slow: Awaited<ReturnType<typeof ask>>[] = []
  const most = Math.floor(httpBytesPerKey / 24_000_000)
  for (let n = 0; n < most; n++) slow.push(await ask(t, port, pathname, token))
  await until('so many are answered', () => slow.every(({ read }) => read() > 0))
  const third = await ask(t, port, pathname, token)
  const fourth = await ask(t, port, pathname, other)
  await until('another key is answered', () => fourth.read() > 0)
  t.equal(third.read(), 0, 'this key has no room left')
  t.equal((await api.get('/v1/inboxes')).status, 200, 'what is small is answered')
  slow[0]!.socket.destroy()
  await until('there is room', () => third.read() > 0)
  slow[1]!.socket.resume()
  const fifth = await ask(t, port, pathname, token)
  await until('one was read to its end', () => fifth.read() > 0)
  t.strictSame(faults, [])
})
