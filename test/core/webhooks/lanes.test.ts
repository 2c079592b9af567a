import t from 'tap'
import { createLanes } from '../../../lib/core/webhooks/lanes.ts'
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
