import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createPod } from '../../../lib/core/account/pods.ts'
import type { App } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listEvents } from '../../../lib/core/events/list.ts'
import { explainDeliveries, listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { listHolds } from '../../../lib/core/outbound/hold.ts'
import { countQueue, handle, listQueue, type QueueFilter } from '../../../lib/core/outbound/operators-hand.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { createQueue } from '../../../lib/queue/queue.ts'
import type { Store } from '../../../lib/store/open.ts'
import { sweepRows } from '../../../lib/store/sweeps.ts'
import { appOn } from '../../support/app-on.ts'
import { claim as claimDue } from '../../support/claim.ts'
import { onEveryDatabase } from '../../support/databases.ts'
import { membersOf } from '../../support/members.ts'

async function setUp(t: Parameters<typeof appOn>[0], store: Store) {
  const bare = await appOn(t, store, '')
  const { clock, ids } = bare
  const queue = createQueue({ store, clock, ids, members: membersOf('here'), random: Math.random })
  const app: App = Object.create(bare, { queue: { value: queue } })
  const pod = await createPod(app, { name: 'Other' })
  const ann = (await createInbox(app, operator, { mailboxName: 'ann' })).id
  const bea = (await createInbox(app, operator, { podId: pod.id })).id
  let key = 0
  const sendFrom = async (inbox: string, ...to: string[]) => {
    const letter = { to: to[0]!, cc: to.slice(1), subject: 's', body: 'b' }
    return (await send(app, operator, inbox, letter, String(key++))).messageId
  }
  const recipients = async (filter: QueueFilter) =>
    (await listQueue(app, 100, filter)).map(line => line.recipient).sort()
  const states = async (messageId: string) =>
    (await listMessageDeliveries(app, operator, messageId)).map(one => one.state)
  const claim = () => claimDue(app.queue, 'delivery', 10)
  return { app, pod, ann, bea, sendFrom, recipients, states, claim }
}

onEveryDatabase('the operator says by domain, inbox, pod, age and state what is meant', async (t, store) => {
  const { app, pod, ann, bea, sendFrom, recipients } = await setUp(t, store)
  const message = await sendFrom(ann, 'a@one.example', 'b@two.example')
  await sendFrom(bea, 'c@one.example')
  t.strictSame(await recipients({}), ['a@one.example', 'b@two.example', 'c@one.example'])
  t.strictSame(await recipients({ domain: 'one.example' }), ['a@one.example', 'c@one.example'])
  t.strictSame(await recipients({ domain: 'example' }), [], 'no other domain that ends alike')
  t.strictSame(await recipients({ inboxId: ann }), ['a@one.example', 'b@two.example'])
  t.strictSame(await recipients({ podId: pod.id }), ['c@one.example'])
  t.strictSame(await recipients({ before: '2026-01-01T00:00:00.000Z' }), [])
  t.strictSame(await recipients({ ids: [message], domain: 'two.example' }), ['b@two.example'])
  t.equal(await countQueue(app, { domain: 'one.example' }), 2)
  await t.rejects(handle(app, 'hold', { ids: ['nothing'] }), { code: 'not_found' })
})

onEveryDatabase('what is done to very many is done to each once, and counted', async (t, store) => {
  const { app, ann, sendFrom } = await setUp(t, store)
  for (const count of [sweepRows, 1]) {
    const to = Array.from({ length: count }, (_, n) => `u${n}@one.example`)
    while (to.length > 0) await sendFrom(ann, ...to.splice(0, 50))
    const all = await countQueue(app, {})
    t.equal(await handle(app, 'retry', {}), all)
  }
  t.equal(await handle(app, 'cancel', {}), sweepRows + 1)
  t.equal(await countQueue(app, {}), 0)
})

onEveryDatabase('what the operator holds waits until it is released, in order', async (t, store) => {
  const { app, ann, bea, sendFrom, recipients, states, claim } = await setUp(t, store)
  const first = await sendFrom(ann, 'a@one.example')
  const second = await sendFrom(bea, 'b@one.example')
  await sendFrom(ann, 'c@two.example')
  t.equal(await handle(app, 'hold', { domain: 'one.example' }), 2)
  t.equal(await handle(app, 'hold', { domain: 'one.example' }), 0, 'once')
  t.strictSame([await states(first), await states(second)], [['held'], ['held']])
  t.match((await explainDeliveries(app, first))[0], { outlook: /^Held by the operator/ })
  t.strictSame(await recipients({ state: 'held' }), ['a@one.example', 'b@one.example'])
  t.equal((await claim()).length, 1, 'only the third one')
  t.equal(await handle(app, 'retry', {}), 0, 'neither what is held nor what is under way is due')
  t.equal(await handle(app, 'release', {}), 2)
  t.strictSame([await states(first), await states(second)], [['queued'], ['queued']])
  const claimed = await claim()
  const deliveries = await Promise.all(
    claimed.map(async entry => (await explainDeliveries(app, entry.subjectId))[0]!.recipient),
  )
  t.strictSame(deliveries, ['a@one.example', 'b@one.example'])
})

onEveryDatabase(
  'what is cancelled is not sent, and its sender told; what is put off is retried',
  async (t, store) => {
    const { app, ann, sendFrom, states, claim } = await setUp(t, store)
    const message = await sendFrom(ann, 'a@one.example', 'b@two.example')
    const [entry] = await claimDue(app.queue, 'delivery')
    t.equal(await handle(app, 'cancel', { ids: [message] }), 1, 'not what is under way')
    await app.store.write(db => app.queue.later(db, entry!))
    t.strictSame(await claim(), [])
    t.equal(await handle(app, 'retry', { ids: [message] }), 1)
    const [again] = await claim()
    t.equal(again?.id, entry!.id)
    await app.store.write(db => app.queue.later(db, again!))
    t.equal(await handle(app, 'cancel', {}), 1)
    t.strictSame(await states(message), ['cancelled', 'cancelled'])
    t.equal(await countQueue(app, {}), 0)
    await store.placed()
    const events = await listEvents(app, operator, { inboxId: ann, type: 'message.failed' }, 10)
    t.equal(events.length, 2)
  },
)

onEveryDatabase(
  'what an inbox, a pod or a domain is held by holds what comes new, until the same is released',
  async (t, store) => {
    const { app, ann, bea, pod, sendFrom, states, claim } = await setUp(t, store)
    const carried: string[] = []
    const networked = Object.create(app, {
      courier: {
        value: {
          carry: async ({ rcptTo }: { rcptTo: string }) => {
            carried.push(rcptTo)
            return { result: 'delivered', code: 250, text: 'ok', durationMs: 1, showing: 'answers' }
          },
        },
      },
    })
    const carryAll = async () => {
      for (let entries = await claim(); entries.length > 0; entries = await claim())
        for (const entry of entries) await deliver(networked, entry)
    }
    const before = await sendFrom(ann, 'a@one.example')
    for (const filter of [{ domain: 'one.example' }, { podId: pod.id }]) await handle(app, 'hold', filter)
    await handle(app, 'hold', { domain: 'one.example' })
    await handle(app, 'hold', { podId: pod.id })
    const holds = (await listHolds(app)).map(({ domain, podId, inboxId }) => ({ domain, podId, inboxId }))
    const [ofDomain, ofPod] = holds
    t.strictSame(
      [holds.length, ofDomain, ofPod],
      [
        2,
        { domain: 'one.example', podId: null, inboxId: null },
        { domain: null, podId: pod.id, inboxId: null },
      ],
      'once each',
    )
    const after = await sendFrom(ann, 'b@one.example', 'c@two.example', 'd@more-one.example')
    const others = await sendFrom(bea, 'e@two.example')
    await carryAll()
    t.same(carried, ['c@two.example', 'd@more-one.example'])
    t.same(
      [await states(before), await states(after), await states(others)],
      [['held'], ['held', 'delivered', 'delivered'], ['held']],
    )
    t.match(await listMessageDeliveries(app, operator, others), [
      { attempts: 0, outlook: /Held by the operator/ },
    ])
    t.equal(await handle(app, 'release', { ids: [others] }), 0, 'its hold stands')
    t.equal(await handle(app, 'release', { podId: pod.id }), 1)
    t.equal(await handle(app, 'release', { domain: 'one.example' }), 2)
    await carryAll()
    t.same(carried.slice(2).sort(), ['a@one.example', 'b@one.example', 'e@two.example'])
    t.same(await listHolds(app), [])
  },
)

onEveryDatabase(
  'what is queued at a time is held alone where more than a place is named',
  async (t, store) => {
    const { app, ann, sendFrom } = await setUp(t, store)
    await sendFrom(ann, 'a@one.example')
    await handle(app, 'hold', { inboxId: ann, state: 'waiting' })
    await handle(app, 'hold', { inboxId: ann, before: '2100-01-01T00:00:00.000Z' })
    t.same(await listHolds(app), [])
  },
)
