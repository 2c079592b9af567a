import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { deliver } from '../../../lib/core/delivery/deliver.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { findDestination } from '../../../lib/store/destinations.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test('a domain that failed for its DNS alone is forgiven when it leads to servers again', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const server = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const { app } = server
  const inbox = await server.inbox('ann')
  const standing = () => findDestination(app.store.read, 'theirs.example')
  for (const isTurn of [true, false]) {
    await send(app, operator, inbox, { to: 'bob@theirs.example', subject: 's', body: 'b' }, String(isTurn))
    for (let n = 0; n < 3; n++)
      await app.store.write(db => app.queue.note(db, 'theirs.example', 'fails', 'DNS failed'))
    t.match(await standing(), { isFailing: 1 })
    const [entry] = await app.queue.claim('delivery', { limit: 1, room: () => 1 })
    await deliver(app, entry!, {
      signal: new AbortController().signal,
      heard() {},
      commit() {},
      isTurnOf: async () => isTurn,
      destination: isTurn ? 'mx.theirs.example' : 'theirs.example',
      showed() {},
    })
    t.equal(await standing(), undefined)
  }
  t.equal(peer.messages.length, 1, 'the second one was given back, untried')
})
