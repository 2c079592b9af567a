import t from 'tap'
import { systemClock } from '../../../lib/base/clock.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import type { Leased } from '../../../lib/queue/leased.ts'
import { createRunner } from '../../../lib/queue/runner.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

t.test(
  'who waits before it greets is come back to while others hang, and nobody hears of a delay',
  async t => {
    const addresses = ['127.0.0.9', '127.0.0.10'] as const
    const mxPort = await freePort(...addresses)
    const names = ['late', 'mute0', 'mute1', 'mute2', 'mute3', 'mute4']
    const dns = await startDns(
      Object.fromEntries(
        names.flatMap(name => [
          [`${name}.example`, { MX: [{ priority: 1, exchange: `mx.${name}.example` }] }],
          [`mx.${name}.example`, { A: [name === 'late' ? addresses[0] : addresses[1]] }],
        ]),
      ),
    )
    // As long as nothing else is tried it greets nobody, for longer than others may be kept waiting.
    const late = await startPeer(addresses[0], mxPort, {
      greeting: ({ number }) => (number === 1 ? { next: 'silence' } : '220 late.example ESMTP'),
    })
    const mute = await startPeer(addresses[1], mxPort, { greeting: { next: 'silence' } })
    const { app, inbox } = await openDoor(t, {
      dns: dns.server,
      mxPort,
      clock: systemClock,
      toml: '[delivery]\nmode = "mx"',
    }).then(async door => ({ app: door.app, inbox: await door.inbox('ann') }))
    const turns = app.queue.fairTurns({
      concurrency: 4,
      allowanceOf: () => ({ concurrency: 5, perMinute: 0 }),
    })
    const perform = (entry: Leased) => deliver(app, entry, turns.placeOf(entry))
    const runner = createRunner({ queue: app.queue, kind: 'delivery', turns, perform, log: app.log })
    t.teardown(async () => {
      await app.courier.close()
      await runner.stop()
      for (const one of [late, mute, dns]) await one.close()
    })
    for (const name of names)
      await send(app, operator, inbox, { to: `x@${name}.example`, subject: 's', body: 'b' }, name)
    runner.start()
    await until('the late one has it', () => late.messages.length === 1, 60_000)
    t.equal(late.connections, 2)
    const deliveries = () =>
      app.store.read.selectFrom('delivery').selectAll().where('recipient', '=', 'x@late.example').execute()
    await until('that is noted', async () => (await deliveries())[0]?.state === 'delivered')
    const events = await app.store.read
      .selectFrom('event')
      .select('type')
      .where('payload', 'like', '%x@late.example%')
      .execute()
    t.notOk(events.some(({ type }) => type === 'message.deferred'))
  },
)
