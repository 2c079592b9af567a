import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { findDestination } from '../../../lib/store/destinations.ts'
import { type Script, startPeer } from '../../courier/smtp/scripted-peer.ts'
import { claim } from '../../support/claim.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { until } from '../../support/until.ts'

/** Has a mail be on its way to a server that stalls at one step, and then the courier stop. */
async function stopAt(t: Test, script: Script) {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  let hasStalled = false
  const [[name, step] = []] = Object.entries(script)
  const stalling = () => {
    hasStalled = true
    return step!
  }
  const peer = await startPeer('127.0.0.9', mxPort, { [name!]: stalling })
  t.teardown(() => peer.close())
  const clients: Socket[] = []
  const connected = (message: unknown) => clients.push((message as { socket: Socket }).socket)
  subscribe('net.client.socket', connected)
  t.teardown(() => unsubscribe('net.client.socket', connected))
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const sent = { to: 'bob@theirs.example', subject: 's', body: 'b' }
  const { messageId } = await send(app, operator, await inbox('ann'), sent, 'once')
  const [entry] = await claim(app.queue, 'delivery')
  const carried = deliver(app, entry!)
  await until('the other server has stalled', () => hasStalled)
  await until('all that it said before is read', () =>
    clients.some(({ remotePort, bytesRead }) => remotePort === mxPort && bytesRead === peer.bytesSaid),
  )
  await app.courier.close()
  await carried
  const rows = await app.store.read
    .selectFrom('queueEntry')
    .selectAll()
    .where('kind', '=', 'delivery')
    .execute()
  const events = await app.store.read.selectFrom('event').select('type').execute()
  return {
    entry: rows[0],
    delivery: (await listMessageDeliveries(app, operator, messageId))[0],
    events: events.map(({ type }) => type),
    standing: await findDestination(app.store.read, entry!.destination),
    tries: await app.store.read.selectFrom('attempt').selectAll().execute(),
  }
}

for (const name of ['greeting', 'EHLO', 'MAIL', 'RCPT', 'DATA', 'duringMessage', 'message'])
  t.test(`what a stop breaks off at ${name} is no failure, and is tried again at once`, async t => {
    const { entry, delivery, events, standing, tries } = await stopAt(t, { [name]: { next: 'silence' } })
    t.match(entry, { attempts: 1, cutOffs: 1, leasedBy: null, dueAt: entry?.createdAt })
    t.match(delivery, { state: 'queued', attempts: 0 })
    t.notOk(events.includes('message.deferred'), events.join())
    t.equal(standing, undefined)
    t.strictSame(tries, [])
  })

t.test('what was said before the stop counts', async t => {
  const { entry, delivery } = await stopAt(t, { RCPT: { say: '450 4.2.0 later', next: 'silence' } })
  t.match(entry, { attempts: 1, cutOffs: 0 })
  t.match(delivery, { state: 'deferred', attempts: 1, replyCode: 450 })
})
