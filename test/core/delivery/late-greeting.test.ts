import t, { type Test } from 'tap'
import { type Clock, systemClock } from '../../../lib/base/time.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import type { Leased } from '../../../lib/queue/lease.ts'
import { createRunner } from '../../../lib/queue/runner.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { startDns } from '../../support/dns.ts'
import { without } from '../../support/peers.ts'
import { freePort } from '../../support/ports.ts'
import { startPostfix } from '../../support/postfix.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { temporaryDir } from '../../support/temporary-dir.ts'
import { until } from '../../support/until.ts'

const addresses = ['127.0.0.9', '127.0.0.10', '127.0.0.11'] as const
const [lateAddress, muteAddress, otherAddress] = addresses
const startedAt = systemClock.now()

/** Where no server of others counts its own seconds, four pass in one. */
const quick: Clock = {
  now: () => new Date(startedAt.getTime() + 4 * systemClock.monotonicMs()),
  monotonicMs: () => 4 * systemClock.monotonicMs(),
}

/** Mail to a server that greets late, and to many that never do, in an installation of four places. */
async function stage(t: Test, clock: Clock = systemClock) {
  const mxPort = await freePort(...addresses)
  const names = ['late', 'mute0', 'mute1', 'mute2', 'mute3', 'mute4']
  const dns = await startDns(
    Object.fromEntries(
      names.flatMap(name => [
        [`${name}.example`, { MX: [{ priority: 1, exchange: `mx.${name}.example` }] }],
        [`mx.${name}.example`, { A: [name === 'late' ? lateAddress : muteAddress] }],
      ]),
    ),
  )
  const mute = await startPeer(muteAddress, mxPort, { greeting: { next: 'silence' } })
  const { app, inbox } = await openDoor(t, {
    clock,
    dns: dns.server,
    mxPort,
    toml: '[delivery]\nmode = "mx"',
  })
  const ann = await inbox('ann')
  const allowanceOf = () => ({ concurrency: 5, perMinute: 0 })
  const scheduler = app.queue.scheduler({ kind: 'delivery', concurrency: 4, allowanceOf })
  const perform = (entry: Leased) => deliver(app, entry, scheduler.attemptOf(entry))
  const runner = createRunner({ queue: app.queue, kind: 'delivery', scheduler, perform, log: app.log })
  t.teardown(async () => {
    await app.courier.close()
    await runner.stop()
    for (const one of [mute, dns]) await one.close()
  })
  for (const name of names)
    await send(app, operator, ann, { to: `x@${name}.example`, subject: 's', body: 'b' }, name)
  const read = app.store.read
  /** It is delivered, and nothing but that was told of it. */
  const arrives = async () => {
    runner.start()
    const find = () =>
      read.selectFrom('delivery').selectAll().where('recipient', '=', 'x@late.example').executeTakeFirst()
    await until('it is there', async () => (await find())?.state === 'delivered', 120_000)
    const said = read.selectFrom('event').select('type').where('payload', 'like', '%x@late.example%')
    t.strictSame(
      (await said.execute()).filter(({ type }) => type === 'message.deferred'),
      [],
    )
    t.equal((await find())?.attempts, 2)
  }
  return { mxPort, arrives }
}

t.test(
  'who waits before it greets is come back to while others hang, and nobody hears of a delay',
  async t => {
    const { mxPort, arrives } = await stage(t, quick)
    const late = await startPeer(lateAddress, mxPort, {
      greeting: ({ number }) => (number === 1 ? { next: 'silence' } : '220 late.example ESMTP'),
    })
    t.teardown(() => late.close())
    await arrives()
    t.equal(late.connections, 2)
  },
)

t.test(
  "and so is Postfix's postscreen, which lets six seconds pass",
  { skip: without('postfix') },
  async t => {
    const { mxPort, arrives } = await stage(t)
    const server = await startPostfix({
      dir: temporaryDir(t),
      hostname: 'mx.late.example',
      address: otherAddress,
      port: mxPort,
      mailboxes: ['x@late.example'],
      settings: {
        mynetworks: '192.0.2.0/24',
        postscreen_access_list: '',
        postscreen_greet_action: 'enforce',
      },
      services: [
        `${lateAddress}:${mxPort} inet n - n - 1 postscreen`,
        'smtpd pass - - n - - smtpd',
        'dnsblog unix - - n - 0 dnsblog',
        'tlsproxy unix - - n - 0 tlsproxy',
        '',
      ].join('\n'),
    })
    t.teardown(() => server.stop())
    await arrives()
    t.equal((await server.messages('x@late.example')).length, 1)
  },
)
