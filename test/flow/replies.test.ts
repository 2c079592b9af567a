import t from 'tap'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { startDns } from '../support/dns.ts'
import { createInbox } from '../support/mailbox.ts'
import { without } from '../support/peers.ts'
import { freePort } from '../support/ports.ts'
import { startPostfix } from '../support/postfix.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const header = (raw: Buffer, name: string) =>
  new RegExp(`^${name}: ((?:.*\\r\\n[ \\t])*.*)\\r\\n`, 'im')
    .exec(raw.toString())?.[1]
    ?.replaceAll(/\r\n\s+/g, ' ')

t.test(
  'an agent that is copied, or blind copied, answers a real Postfix',
  { skip: without('postfix') },
  async t => {
    const mxPort = await freePort('127.0.0.3')
    const dns = await startDns({})
    t.teardown(() => dns.close())
    const daemon = await startDaemon(t, { dns: dns.server, mxPort })
    dns.set('theirs.example', 'MX', [{ priority: 10, exchange: 'mx.theirs.example' }])
    dns.set('mx.theirs.example', 'A', ['127.0.0.3'])
    // Proven, Ann may bring others into the thread.
    dns.set('theirs.example', 'TXT', ['v=spf1 ip4:127.0.0.0/8 -all'])
    const names = ['ann', 'bob', 'carol', 'dora']
    const postfix = await startPostfix({
      dir: temporaryDir(t),
      hostname: 'mx.theirs.example',
      address: '127.0.0.3',
      port: mxPort,
      mailboxes: names.map(name => `${name}@theirs.example`),
      routes: { 'ours.example': `127.0.0.1:${daemon.smtpPort}` },
    })
    t.teardown(() => postfix.stop())
    const agent = await createInbox(daemon, 'agent')
    const mail = (to: string, cc: string) =>
      postfix.send({
        from: 'ann@theirs.example',
        to: [agent.address],
        raw: [
          'From: "Löwe, Ann" <ann@theirs.example>',
          `To: ${to}`,
          `Cc: ${cc}`,
          'Subject: The fish',
          `Message-ID: <${Math.random()}@theirs.example>`,
          'Date: Fri, 20 Nov 2026 10:00:00 +0000',
          'MIME-Version: 1.0',
          'Content-Type: text/plain; charset=utf-8',
          'Content-Transfer-Encoding: 8bit',
          '',
          'Grüße',
          '',
        ].join('\r\n'),
      })

    await mail('Bob <bob@theirs.example>', `Agent <${agent.address}>, carol@theirs.example`)
    const [copied] = await agent.received()
    t.match(copied, { deliveryRole: 'cc', headerTo: 'bob@theirs.example', to: ['bob@theirs.example'] })
    const sent = await agent.api.send(agent.id, { threadId: copied!.threadId, body: 'Three euros.' })
    t.equal(sent.status, 200, JSON.stringify(sent.body))
    t.equal((await agent.settled(sent.body.messageId)).status, 'sent')
    for (const name of ['ann', 'bob']) {
      const [copy] = await postfix.messages(`${name}@theirs.example`)
      t.equal(header(copy!, 'To'), 'Bob <bob@theirs.example>')
      t.match(header(copy!, 'Cc'), /^=\?UTF-8\?.*\?= <ann@theirs\.example>$/i)
      t.equal(header(copy!, 'In-Reply-To'), copied!.rfcMessageId)
    }
    const { data } = (await agent.api.get(`/v1/messages/${sent.body.messageId}/deliveries`)).body
    t.equal(data.length, 2, 'carol was not asked for')

    await mail('Bob <bob@theirs.example>', 'carol@theirs.example')
    const blind = (await agent.received(2)).at(-1)!
    t.equal(blind.deliveryRole, null)
    const toAll = await agent.api.post(
      `/v1/messages/${blind.id}/reply-all`,
      { body: 'b' },
      { 'idempotency-key': 'all' },
    )
    await agent.settled(toAll.body.messageId)
    const [forCarol] = await postfix.messages('carol@theirs.example')
    t.match(header(forCarol!, 'To'), /<ann@theirs\.example>$/)
    t.equal(header(forCarol!, 'Cc'), 'Bob <bob@theirs.example>, carol@theirs.example')

    // What has 8-bit data travels as it is.
    const forwarded = await agent.api.post(
      `/v1/messages/${blind.id}/forward`,
      { to: 'Dora <dora@theirs.example>', asAttachment: true },
      { 'idempotency-key': 'forward' },
    )
    t.equal((await agent.settled(forwarded.body.messageId)).status, 'sent')
    const [forDora] = await postfix.messages('dora@theirs.example')
    t.equal(header(forDora!, 'Subject'), 'Fwd: The fish')
    const original = (await agent.api.get(`/v1/messages/${blind.id}/raw`)).bytes
    t.ok(forDora!.includes(original), 'byte for byte')
    t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
  },
)
