import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { createKey } from '../../lib/core/account/keys.ts'
import { operator } from '../../lib/core/app/caller.ts'
import { type AnswerShare, answerOwners, createAnswerRoom, type Reader } from '../../lib/http/answer-room.ts'
import { startApi } from '../support/api-app.ts'
import { until } from '../support/until.ts'

const patient = 60_000

/** A room of 100 bytes, 40 for each key and 60 for each pod, and who enters it. */
function roomOf(t: Test, waitMs = patient) {
  const ended = new AbortController()
  t.teardown(() => ended.abort())
  const room = createAnswerRoom({ mostBytes: 100, waitMs })
  const cuts: string[] = []
  const enter = (key: string, bytes: number, more: Partial<Reader> = {}) => {
    const [name, pod] = key.split('@')
    const shares = [{ name: `key ${name}`, mostBytes: 40 }, ...(pod ? [{ name: pod, mostBytes: 60 }] : [])]
    const entered = {
      share: undefined as AnswerShare | undefined,
      leave: undefined as (() => void) | undefined,
      error: undefined as unknown,
    }
    const whenOver = (leave: () => void) => {
      entered.leave = leave
    }
    const signal = () => ended.signal
    const done = room
      .enter(bytes, { shares, signal, whenOver, cut: () => void cuts.push(key), ...more })
      .then(share => {
        entered.share = share
      })
      .catch(error => {
        entered.error = error
      })
    return { entered, done }
  }
  /** All who can enter have done so then. */
  const settled = () => new Promise(resolve => setImmediate(resolve))
  return { enter, cuts, settled }
}

t.test('who has no room waits until there is some, in his turn, and others do not wait for him', async t => {
  const { enter, settled } = roomOf(t)
  const first = enter('a', 30)
  const second = enter('a', 20)
  const third = enter('a', 5)
  const other = enter('b', 40)
  await settled()
  t.ok(first.entered.share)
  t.ok(other.entered.share, 'another key')
  t.notOk(second.entered.share, 'over the share')
  t.notOk(third.entered.share, 'nobody is overtaken by who shares with him')
  first.entered.share!.become(10)
  await settled()
  t.ok(second.entered.share, 'what was taken to be more')
  t.ok(third.entered.share)
  const more = enter('a', 30)
  await settled()
  t.notOk(more.entered.share)
  second.entered.leave!()
  first.entered.leave!()
  first.entered.leave!()
  first.entered.share!.become(40)
  await settled()
  t.ok(more.entered.share)
  const last = enter('a', 5)
  await settled()
  t.ok(last.entered.share, 'who has left takes nothing any more')
})

t.test('who has nothing may have an answer of any size', async t => {
  const { enter, settled } = roomOf(t)
  const large = enter('a', 1000)
  await settled()
  t.ok(large.entered.share)
})

t.test('the keys of a pod share, too', async t => {
  const { enter, settled } = roomOf(t)
  const [a, b, c] = [enter('a@p', 30), enter('b@p', 30), enter('c@p', 30)]
  const other = enter('d@q', 30)
  await settled()
  t.strictSame(
    [a, b, c, other].map(({ entered }) => entered.share !== undefined),
    [true, true, false, true],
  )
  a.entered.leave!()
  await settled()
  t.ok(c.entered.share)
})

t.test('who waits too long for his own room is refused, and takes nothing', async t => {
  const { enter, cuts } = roomOf(t, 1)
  const first = enter('a', 40)
  const second = enter('a', 40)
  await second.done
  t.match(second.entered.error, { code: 'rate_limit_exceeded', more: { retryAfterSeconds: 1 } })
  t.strictSame(cuts, [])
  first.entered.leave!()
  const third = enter('a', 40)
  await third.done
  t.ok(third.entered.share)
})

t.test('for the room of all the oldest answer is cut off', async t => {
  const { enter, cuts } = roomOf(t, 1)
  const oldest = enter('a', 40, { cut: () => oldest.entered.leave!() })
  const all = [oldest, enter('b', 40), enter('c', 20)]
  for (const { done } of all) await done
  const waiting = enter('d', 20)
  await waiting.done
  t.ok(waiting.entered.share)
  t.strictSame(cuts, [])
  const refused = enter('f', 40)
  await refused.done
  t.match(refused.entered.error, { code: 'unavailable' })
  t.strictSame(cuts, ['b'])
})

t.test('who has gone waits no more', async t => {
  const { enter, settled } = roomOf(t)
  enter('a', 40)
  const gone = new AbortController()
  const waiting = enter('a', 40, { signal: () => gone.signal })
  const next = enter('a', 1)
  await settled()
  const why = new Error('gone')
  gone.abort(why)
  await waiting.done
  t.equal(waiting.entered.error, why)
  t.notOk(next.entered.share)
  const late = enter('a', 40, { signal: () => gone.signal })
  await late.done
  t.equal(late.entered.error, why)
})

t.test('whose room it is', async t => {
  const names = (...given: Parameters<typeof answerOwners>) => answerOwners(...given).map(({ name }) => name)
  t.strictSame(names(undefined, '192.0.2.1'), ['address 192.0.2.1'])
  t.strictSame(names({ keyId: 'k', podId: null, inboxId: null }, '192.0.2.1'), ['key k'])
  t.strictSame(names({ keyId: 'k', podId: 'p', inboxId: 'i' }, '192.0.2.1'), ['key k', 'pod p'])
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
  const slow = [await ask(t, port, pathname, token), await ask(t, port, pathname, token)]
  await until('two are answered', () => slow.every(({ read }) => read() > 0))
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
