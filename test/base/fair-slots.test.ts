import t from 'tap'
import { FairSlots, type FairSlotsOptions, type Leave } from '../../lib/base/fair-slots.ts'
import { chanceOf } from '../support/fuzz.ts'

const settled = () => new Promise(resolve => setImmediate(resolve))

/** Slots of which it is noted who entered, and who was refused; a name begins with its party. */
function slotsOf(options: FairSlotsOptions) {
  const slots = new FairSlots(options)
  const entered: string[] = []
  const refused: string[] = []
  const leaves = new Map<string, Leave>()
  const enter = (name: string, more: { amount?: number; signal?: AbortSignal } = {}) =>
    slots.enter(name[0]!, more).then(leave => {
      if (leave) leaves.set(name, leave)
      ;(leave ? entered : refused).push(name)
    })
  const leave = async (...names: string[]) => {
    for (const name of names) leaves.get(name)!()
    await settled()
  }
  return { slots, entered, refused, enter, leave }
}

t.test('so many at once, and of those who wait one of each party in turns', async t => {
  const { entered, enter, leave } = slotsOf({ size: 2 })
  const all = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2']
  for (const name of all) void enter(name)
  await settled()
  t.strictSame(entered, ['a1', 'a2'])
  for (let n = 0; n < all.length; n++) await leave(entered[n]!)
  t.strictSame(entered, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2'])
})

t.test('who leaves twice gives one slot back', async t => {
  const { entered, enter, leave } = slotsOf({ size: 1 })
  for (const name of ['a1', 'a2', 'a3']) void enter(name)
  await settled()
  await leave('a1', 'a1')
  t.strictSame(entered, ['a1', 'a2'])
})

t.test(
  'a party that has its share lets the others pass, and its later ones do not pass its first',
  async t => {
    const { slots, entered, enter, leave } = slotsOf({ size: 10, share: () => 4 })
    void enter('a1', { amount: 3 })
    void enter('a2', { amount: 2 })
    void enter('a3', { amount: 1 })
    void enter('b1', { amount: 4 })
    await settled()
    t.strictSame(entered, ['a1', 'b1'])
    t.notOk(slots.hasRoomFor('a', 2))
    t.ok(slots.hasRoomFor('c', 3))
    await leave('a1')
    t.strictSame(entered, ['a1', 'b1', 'a2', 'a3'])
  },
)

t.test('a share can depend on what is free, so that each new party finds some', async t => {
  const { slots, entered, enter } = slotsOf({ size: 8, share: free => 3 * free })
  for (let n = 0; n < 20; n++) void enter(`a${n}`)
  await settled()
  t.equal(entered.length, 6, 'three times as many as are left')
  for (const name of ['b1', 'c1']) {
    t.ok(slots.hasRoomFor(name[0]!))
    void enter(name)
    await settled()
    t.equal(entered.at(-1), name, 'at once')
  }
})

t.test('nobody passes who needs much, and what is larger than all comes alone', async t => {
  const { entered, enter, leave } = slotsOf({ size: 10 })
  void enter('a1', { amount: 6 })
  void enter('b1', { amount: 50 })
  void enter('c1', { amount: 1 })
  await settled()
  t.strictSame(entered, ['a1'])
  await leave('a1')
  t.strictSame(entered, ['a1', 'b1'])
  await leave('b1')
  t.strictSame(entered, ['a1', 'b1', 'c1'])
})

t.test('who gives up or waits for too long is refused, and those behind come', async t => {
  const { entered, refused, enter } = slotsOf({ size: 4, waitMs: 1 })
  void enter('a1', { amount: 3 })
  const gone = new AbortController()
  void enter('a2', { amount: 3, signal: gone.signal })
  void enter('a3', { amount: 1 })
  gone.abort()
  await settled()
  t.strictSame([entered, refused], [['a1', 'a3'], ['a2']])
  await enter('b1')
  t.strictSame(refused, ['a2', 'b1'])
  await enter('b2', { signal: AbortSignal.abort() })
  t.strictSame(refused, ['a2', 'b1', 'b2'])
})

t.test('who gives up does not cost its party the turn', async t => {
  const { entered, enter, leave } = slotsOf({ size: 1 })
  const gone = new AbortController()
  void enter('a1')
  void enter('b1', { signal: gone.signal })
  void enter('b2')
  void enter('c1')
  gone.abort()
  await settled()
  await leave('a1')
  t.strictSame(entered, ['a1', 'b2'])
})

t.test('so many wait, of one party half as many, and none once it is stopped', async t => {
  const { entered, refused, enter, leave, slots } = slotsOf({ size: 1, waiting: 4 })
  for (const name of ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'd1']) void enter(name)
  await settled()
  t.strictSame([entered, refused], [['a1'], ['a4', 'd1']])
  await leave('a1')
  t.strictSame(entered, ['a1', 'a2'])
  void enter('d2')
  slots.stop()
  await settled()
  t.strictSame(refused.slice(2).sort(), ['a3', 'b1', 'c1', 'd2'])
  await leave('a2')
  await enter('e1')
  t.strictSame([entered, refused.at(-1)], [['a1', 'a2'], 'e1'])
})

t.test('whatever comes, bounds hold, nobody waits who could enter, and nothing is left', async t => {
  const wrong: string[] = []
  for (let seed = 1; seed <= 200; seed++) {
    const chance = chanceOf(seed)
    const size = 8
    const slots = new FairSlots({ size, share: free => free })
    const held = new Map<Leave, { party: string; amount: number }>()
    const waiting = new Map<AbortController, { party: string; amount: number }>()
    const sumOf = (party?: string) =>
      [...held.values()].reduce(
        (sum, one) => sum + (party === undefined || one.party === party ? one.amount : 0),
        0,
      )
    for (let step = 0; step < 60; step++) {
      const what = chance.number(5)
      if (what < 2) {
        const one = { party: chance.of(['a', 'b', 'c']), amount: 1 + chance.number(5) }
        const abort = new AbortController()
        waiting.set(abort, one)
        slots.enter(one.party, { amount: one.amount, signal: abort.signal }).then(leave => {
          waiting.delete(abort)
          if (leave) held.set(leave, one)
        })
      } else if (what < 4 && held.size > 0) {
        const leave = chance.of([...held.keys()])
        held.delete(leave)
        leave()
      } else if (waiting.size > 0) chance.of([...waiting.keys()]).abort()
      await settled()
      if (sumOf() > size && held.size > 1) wrong.push(`seed ${seed}: ${sumOf()} are taken`)
      const firsts = new Map([...waiting.values()].reverse().map(one => [one.party, one]))
      const mayEnter = [...firsts.values()].filter(one => slots.hasRoomFor(one.party, one.amount))
      const isKept = [...firsts.values()].some(
        one =>
          !slots.hasRoomFor(one.party, one.amount) &&
          (sumOf(one.party) === 0 || sumOf(one.party) + one.amount <= size - sumOf()),
      )
      if (mayEnter.length > 0 && !isKept) wrong.push(`seed ${seed}: ${mayEnter[0]!.party} could enter`)
    }
    for (; held.size > 0; await settled()) {
      const [leave] = held.keys()
      held.delete(leave!)
      leave!()
    }
    if (waiting.size > 0 || !slots.hasRoomFor('a', size)) wrong.push(`seed ${seed}: something is left`)
  }
  t.strictSame(wrong.slice(0, 5), [])
})
