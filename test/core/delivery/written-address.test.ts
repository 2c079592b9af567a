import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { addSuppression } from '../../../lib/core/outbound/suppressions.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { carryAll } from '../../support/carry-all.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test('a local part keeps its case on the wire, and is compared without it', async t => {
  const mxPort = await freePort('127.0.0.9')
  const dns = await startDns({
    'theirs.example': { MX: [{ priority: 1, exchange: 'mx.theirs.example' }] },
    'mx.theirs.example': { A: ['127.0.0.9'] },
  })
  t.teardown(() => dns.close())
  const peer = await startPeer('127.0.0.9', mxPort)
  t.teardown(() => peer.close())
  const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
  const ann = await inbox('ann')
  const letter = {
    to: 'Bob Bee <Bob.Bee@Theirs.EXAMPLE>',
    cc: 'plain@theirs.example',
    subject: 's',
    body: 'b',
  }
  const { messageId } = await send(app, operator, ann, letter, 'one')
  await carryAll(app)
  const paths = peer.commands.filter(command => command.startsWith('RCPT'))
  t.strictSame(paths, ['RCPT TO:<Bob.Bee@theirs.example>', 'RCPT TO:<plain@theirs.example>'])
  t.match(peer.messages[0], /^To: Bob Bee <Bob\.Bee@theirs\.example>\r$/m)
  const recipients = (await listMessageDeliveries(app, operator, messageId)).map(one => one.recipient)
  t.strictSame(recipients, ['bob.bee@theirs.example', 'plain@theirs.example'])
  t.equal((await app.store.read.selectFrom('delivery').select('rcptTo').execute())[1]?.rcptTo, null)

  await addSuppression(app, { recipient: 'bob.bee@theirs.example' })
  await t.rejects(send(app, operator, ann, letter, 'two'), { code: 'recipient_suppressed' })
})
