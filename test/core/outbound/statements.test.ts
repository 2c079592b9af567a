import t from 'tap'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import type { Networked } from '../../../lib/core/app/app.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { startApi } from '../../support/api-app.ts'
import { statementsOf } from '../../support/statements.ts'

const taken = {
  result: 'delivered',
  code: 250,
  text: 'taken',
  host: 'mx.there.example',
  durationMs: 1,
  showing: 'answers',
} as const

t.test('a send and a delivery take so many statements, and no more come in by themselves', async t => {
  const { app: bare } = await startApi(t)
  const courier: Networked['courier'] = {
    carry: async (_delivery, _raw, progress) =>
      (await progress?.mayGoTo('mx:mx.there.example', 'there.example')) ? taken : { result: 'no-slot' },
    close: async () => {},
  }
  const app: Networked = Object.create(bare, { courier: { value: courier } })
  const inbox = (await createInbox(app, operator, {})).id
  const scheduler = app.queue.scheduler({
    kind: 'delivery',
    concurrency: 10,
    allowanceOf: () => ({ concurrency: 5, perMinute: 0 }),
  })
  const counted = async (work: () => Promise<unknown>) => {
    const ran = await statementsOf(work)
    const isFrame = (text: string) =>
      /^(begin|commit|rollback|savepoint|release|pragma data_version)/.test(text)
    const write = ran.slice(ran.findIndex(text => text.startsWith('begin immediate')))
    const own = (texts: readonly string[]) => texts.filter(text => !isFrame(text))
    return { all: own(ran), write: own(write) }
  }
  const sendTo = (name: string) =>
    counted(() =>
      send(app, operator, inbox, { to: `${name}@there.example`, subject: 's', body: 'b' }, name + v()),
    )
  let number = 0
  const v = () => String(number++)

  const deliverOne = async () => {
    const [entry] = await scheduler.claim()
    const found = await counted(() => deliver(app, entry!, scheduler.attemptOf(entry!)))
    scheduler.end(entry!)
    return found
  }
  // The first of each makes rows of a day and of a domain.
  await sendTo('ann')
  await deliverOne()

  const stranger = await sendTo('bob')
  t.ok(stranger.write.length <= 14, `${stranger.write.length} to a stranger:\n${stranger.write.join('\n')}`)
  t.ok(stranger.all.length <= 21, `${stranger.all.length} with what is read before`)
  t.ok((await deliverOne()).all.length <= 10)

  // A bare place in a join, an order or a limit has SQLite plan the statement anew at each call.
  t.notMatch(stranger.all.join(), /[^+]\?/)

  const known = await sendTo('bob')
  t.ok(known.write.length <= 13, `${known.write.length} to an acquaintance`)
  const delivered = await deliverOne()
  t.ok(delivered.all.length <= 10, `${delivered.all.length} a delivery:\n${delivered.all.join('\n')}`)
})
