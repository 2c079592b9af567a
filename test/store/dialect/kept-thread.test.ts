import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { keepThread } from '../../../lib/store/dialect/kept-thread.ts'
import { until } from '../../support/until.ts'

/** Tells that it is there, then what it is told to tell, and ends at any other message. */
const program = `
const { parentPort } = require('node:worker_threads')
parentPort.on('message', message => {
  if (message.tell !== undefined) parentPort.postMessage(message.tell)
  else if (message === 'die') throw new Error('it dies')
  else parentPort.close()
})
parentPort.postMessage('there')`

function setUp(t: Test) {
  const begun: { readonly worker: Worker; readonly isFirst: boolean; isThere: boolean }[] = []
  const state = { version: 0, isBusy: false, looks: 0, deaths: [] as string[] }
  const thread = keepThread<string>({
    begin(isFirst) {
      const one = { worker: new Worker(program, { eval: true }), isFirst, isThere: true }
      one.worker.on('exit', () => {
        one.isThere = false
      })
      begun.push(one)
      return one.worker
    },
    told() {},
    died: why => state.deaths.push(why),
    version() {
      state.looks++
      return state.isBusy ? state.looks : state.version
    },
    isHindered: (message, was) => (message === 'there' ? was : message === 'hindered'),
    idleMs: 400,
  })
  t.teardown(() => thread.stop())
  const looks = (count: number) => {
    const end = state.looks + count
    return until(`${count} looks`, () => state.looks >= end)
  }
  return { begun, state, looks, thread }
}

t.test('a thread ends when nothing is committed, and begins with the next commit', async t => {
  const { begun, state, looks } = setUp(t)
  t.ok(begun[0]!.isFirst)
  await until('its end', () => !begun[0]!.isThere)
  await looks(5)
  t.equal(begun.length, 1, 'none begins while nothing is committed')
  state.version++
  await until('the next', () => begun.length === 2)
  t.notOk(begun[1]!.isFirst)
  t.strictSame(state.deaths, [])
})

t.test('a thread stays while something is committed', async t => {
  const { begun, state, looks } = setUp(t)
  state.isBusy = true
  await looks(8)
  t.ok(begun[0]!.isThere)
})

t.test('a thread that is hindered stays until it is not', async t => {
  const { begun, looks } = setUp(t)
  const { worker } = begun[0]!
  const telling = (tell: string) =>
    new Promise(resolve => {
      worker.once('message', resolve)
      worker.postMessage({ tell })
    })
  await new Promise(resolve => worker.once('message', resolve))
  await telling('hindered')
  await looks(6)
  t.ok(begun[0]!.isThere)
  await telling('free')
  await until('its end', () => !begun[0]!.isThere)
})

t.test('a thread that dies is told, and is none that rests', async t => {
  const { begun, state, looks } = setUp(t)
  begun[0]!.worker.postMessage('die')
  await until('its death', () => state.deaths.length === 1)
  t.match(state.deaths[0], 'it dies')
  state.version++
  await looks(3)
  t.equal(begun.length, 1, 'it is begun again later')
})

t.test('to stop waits for its end, and it does not begin again', async t => {
  const { begun, state, thread, looks } = setUp(t)
  await looks(1)
  await thread.stop()
  t.notOk(begun[0]!.isThere)
  state.version++
  t.equal(begun.length, 1)
})
