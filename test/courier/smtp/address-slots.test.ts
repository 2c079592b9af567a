import t from 'tap'
import { AddressSlots } from '../../../lib/courier/smtp/address-slots.ts'

const never = new AbortController().signal

t.test('a pod alone has all connections of an address, and half of one that others use', async t => {
  const slots = new AddressSlots(1)
  const enter = (podId: string, most = 4) => slots.enter('192.0.2.1', most, podId, never)
  const leaves = await Promise.all(['ann', 'ann', 'ann', 'ann'].map(podId => enter(podId)))
  t.ok(leaves.every(Boolean))
  t.equal(await enter('ann'), undefined, 'all are taken')
  t.equal(await enter('bob'), undefined, 'of the other as well')
  const bobs = enter('bob')
  leaves[0]!()
  const leaveBob = await bobs
  t.ok(leaveBob, 'his turn comes')
  leaves[1]!()
  t.equal(await enter('ann'), undefined, 'it has two, and one is free')
  t.ok(await enter('cid'), 'who has none gets that')
  for (const leave of [leaves[2]!, leaves[3]!, leaveBob!]) leave()
  const again = [await enter('ann'), await enter('ann')]
  t.ok(again.every(Boolean))
  t.equal(await enter('ann'), undefined, 'that there were others is remembered')
})

t.test('an address has as many as the name says that says the least', async t => {
  const slots = new AddressSlots(1)
  t.ok(await slots.enter('192.0.2.1', 3, 'ann', never))
  t.ok(await slots.enter('192.0.2.1', 2, 'ann', never))
  t.equal(await slots.enter('192.0.2.1', 3, 'ann', never), undefined)
  t.ok(await slots.enter('192.0.2.2', 1, 'ann', never), 'another address')
})
