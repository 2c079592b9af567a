import t from 'tap'
import { startPeer } from '../courier/smtp/scripted-peer.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { startExim } from '../support/exim.ts'
import type { MailServer, MailServerOptions } from '../support/mail-server.ts'
import { createInbox } from '../support/mailbox.ts'
import { startOpenSmtpd } from '../support/opensmtpd.ts'
import { type Peer, without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** Relays of others that take our mail, and then are refused by the server behind them. */
const relays: readonly [
  peer: Peer,
  address: string,
  start: (options: MailServerOptions) => Promise<MailServer>,
][] = [
  ['postfix', '127.0.0.14', startPostfix],
  ['exim', '127.0.0.15', startExim],
  ['opensmtpd', '127.0.0.16', startOpenSmtpd],
]

for (const [peer, address, start] of relays) {
  t.test(`what a real ${peer} sends back fails the message and is told`, { skip: without(peer) }, async t => {
    const mxPort = await freePort(address)
    const dns = await startDns({
      'theirs.example': { MX: [{ priority: 10, exchange: 'mx.theirs.example' }] },
      'mx.theirs.example': { A: [address] },
    })
    const behindPort = await freePort('127.0.0.17')
    const behind = await startPeer('127.0.0.17', behindPort, {
      RCPT: '550 5.1.1 <bob@theirs.example>: no such user',
    })
    t.teardown(() => Promise.all([dns.close(), behind.close()]))
    const daemon = await startDaemon(t, { dns: dns.server, mxPort })
    const relay = await start({
      dir: temporaryDir(t),
      hostname: 'mx.theirs.example',
      address,
      port: mxPort,
      mailboxes: ['postmaster@mx.theirs.example'],
      routes: {
        'theirs.example': `127.0.0.17:${behindPort}`,
        'bounce.ours.example': `127.0.0.1:${daemon.smtpPort}`,
      },
    })
    t.teardown(() => relay.stop())
    const ann = await createInbox(daemon, 'ann')
    const sent = await ann.api.send(ann.id, { to: 'bob@theirs.example', subject: 'Hello?', body: 'Bob?' })
    t.equal(sent.status, 200, JSON.stringify(sent.body))

    const [notice] = await ann.received()
    t.match(notice, { category: 'bounce', autoReplyable: false, threadId: sent.body.threadId })
    const message = await until('the message to be failed', async () => {
      const { body } = await ann.api.get(`/v1/messages/${sent.body.messageId}`)
      return body.status === 'failed' ? body : undefined
    })
    const { body: deliveries } = await ann.api.get(`/v1/messages/${message.id}/deliveries`)
    t.match(deliveries.data[0], {
      state: 'failed',
      replyCode: 550,
      replyEnhanced: '5.1.1',
      replyText: /no such user/,
    })
    const { body: events } = await ann.api.get(`/v1/events?inboxId=${ann.id}&type=message.bounced`)
    t.match(events.data, [
      {
        message: { id: message.id, direction: 'outbound', to: 'bob@theirs.example' },
        data: { recipient: 'bob@theirs.example', status: '5.1.1', diagnostic: /no such user/ },
      },
    ])
    t.match(await ann.api.send(ann.id, { to: 'bob@theirs.example', subject: 'x', body: 'x' }), {
      status: 422,
      body: { error: 'recipient_suppressed', type: 'bounce' },
    })
    t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
  })
}
