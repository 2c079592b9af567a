import t from 'tap'
import { createLanes, createReadsInOrder } from '../../../lib/core/webhooks/lanes.ts'
import { until } from '../../support/until.ts'

/** Lanes whose beginnings are noted. */
function setUp(places: number, waitMs: number) {
  const lanes = createLanes({ places, waitMs })
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const enter = async (lane: string | undefined, order: string) => {
    const leave = await lanes.enter({ lane, order })
    begun.push(order)
    ends.set(order, leave)
  }
  return { begun, enter, end: (order: string) => ends.get(order)!() }
}
const never = 2 ** 30

t.test('a lane goes by order, one after the other; other lanes do not wait for it', async t => {
  const { begun, enter, end } = setUp(10, never)
  const all = ['3', '1', '2'].map(order => enter('a', order))
  const other = enter('b', 'b1')
  await other
  await until('the first', () => begun.includes('1'))
  t.strictSame(begun.sort(), ['1', 'b1'])
  for (const [ended, next] of [
    ['1', '2'],
    ['2', '3'],
  ] as const) {
    end(ended)
    await until(next, () => begun.includes(next))
  }
  t.strictSame(begun, ['1', 'b1', '2', '3'])
  end('3')
  await Promise.all(all)
  // The lane was forgotten; it begins anew.
  await enter('a', '0')
  end('0')
  end('b1')
})

t.test('one that does not end holds the next back for a while only', async t => {
  const { begun, enter, end } = setUp(10, 30)
  const all = ['1', '2', '3'].map(order => enter('a', order))
  await Promise.all(all)
  t.strictSame(begun, ['1', '2', '3'])
  // An end that comes late lets nobody begin who must wait for another.
  const later = enter('a', '4')
  end('1')
  end('2')
  end('3')
  await later
  end('4')
})

t.test('the places are bounded, and what waits in a lane takes none', async t => {
  const { begun, enter, end } = setUp(2, never)
  const all = [enter('a', 'a1'), enter('a', 'a2'), enter('a', 'a3'), enter('b', 'b1'), enter('c', 'c1')]
  await until('two', () => begun.length === 2)
  t.strictSame(begun, ['a1', 'b1'])
  const retry = enter(undefined, 'retry')
  end('b1')
  await until('c1', () => begun.includes('c1'))
  end('c1')
  await retry
  end('retry')
  end('a1')
  await until('a2', () => begun.includes('a2'))
  end('a2')
  await until('a3', () => begun.includes('a3'))
  end('a3')
  await Promise.all(all)
  t.equal(begun.length, 6)
})

t.test(
  'what is read for one destination comes as it was claimed, however its reads overtake each other',
  async t => {
    const inOrder = createReadsInOrder()
    const reads = new Map<string, PromiseWithResolvers<string>>()
    const come: string[] = []
    const read = async (destination: string, name: string) => {
      const mine = Promise.withResolvers<string>()
      reads.set(name, mine)
      come.push(await inOrder(destination, () => mine.promise).catch(() => `${name} failed`))
    }
    const claimed = [read('u', '1'), read('u', '2')]
    await Promise.resolve()
    claimed.push(read('u', '3'), read('v', 'other'))
    for (const name of ['3', '2', 'other']) reads.get(name)!.resolve(name)
    await claimed.at(-1)
    t.strictSame(come, ['other'], 'another destination does not wait')
    reads.get('1')!.resolve('1')
    await Promise.all(claimed)
    t.equal(come.at(-1), '3')
    const failing = [read('u', '4'), read('u', '5')]
    reads.get('4')!.reject(new Error('cut off'))
    reads.get('5')!.resolve('5')
    await Promise.all(failing)
    t.strictSame(come.slice(4).sort(), ['4 failed', '5'])
  },
)
