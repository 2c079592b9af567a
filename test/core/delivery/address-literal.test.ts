import t from 'tap'
import { operator } from '../../../lib/core/app/caller.ts'
import { listMessageDeliveries } from '../../../lib/core/mailbox/deliveries.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { listSuppressions } from '../../../lib/core/outbound/suppressions.ts'
import { addPolicyRule } from '../../../lib/core/policy/rules.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { carryAll } from '../../support/carry-all.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

t.test(
  'an inbox writes to an address literal (RFC 5321 §4.1.3), which is an address as others are',
  async t => {
    const mxPort = await freePort('127.0.0.9')
    const dns = await startDns({})
    t.teardown(() => dns.close())
    const peer = await startPeer('127.0.0.9', mxPort, {
      RCPT: () => (/nobody/.test(peer.commands.at(-1)!) ? '550 5.1.1 no such user' : '250 2.1.5 ok'),
    })
    t.teardown(() => peer.close())
    const { app, inbox } = await openDoor(t, { dns: dns.server, mxPort, toml: '[delivery]\nmode = "mx"' })
    const ann = await inbox('ann')
    const write = (to: string, key: string) => send(app, operator, ann, { to, subject: 's', body: 'b' }, key)
    const { messageId } = await write('Bob Bee <Bob@[127.0.0.9]>', 'one')
    await carryAll(app)
    t.ok(peer.commands.includes('RCPT TO:<Bob@[127.0.0.9]>'))
    t.match(peer.messages[0], /^To: Bob Bee <Bob@\[127\.0\.0\.9\]>\r$/m)
    t.match(await listMessageDeliveries(app, operator, messageId), [
      { recipient: 'bob@[127.0.0.9]', state: 'delivered', remoteHost: '127.0.0.9' },
    ])

    await write('nobody@[127.0.0.9]', 'two')
    await carryAll(app)
    t.match((await listSuppressions(app, undefined, { limit: 10, offset: 0 })).rows, [
      { recipient: 'nobody@[127.0.0.9]', reason: 'bounce' },
    ])
    await t.rejects(write('nobody@[127.0.0.9]', 'three'), { code: 'recipient_suppressed' })

    const block = { direction: 'outbound', type: 'block', value: '[127.0.0.9]' } as const
    t.match(await addPolicyRule(app, operator, {}, block), { value: '[127.0.0.9]' })
    await t.rejects(write('eve@[127.0.0.9]', 'four'), { code: 'recipient_not_permitted' })

    for (const [number, to] of ['bob@[127.0.0]', 'bob@[localhost]', 'bob@[127.0.0.9].example'].entries())
      await t.rejects(write(to, `none${number}`), { code: 'invalid_request' }, to)
  },
)

t.test('what comes from an address literal is taken, and never proven', async t => {
  const { inbox, messages, port } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  t.match((await dialog.say('MAIL FROM:<bob@[192.0.2.1]>')).text, /^250 /)
  t.match((await dialog.say('RCPT TO:<ann@[192.0.2.1]>')).text, /^550 5\.7\.1 /, 'not ours')
  t.match((await dialog.say('RCPT TO:<ann@[192.0.2]>')).text, /^553 5\.1\.3 /)
  t.match((await dialog.say('RCPT TO:<ann@ours.example>')).text, /^250 /)
  t.equal((await dialog.say('DATA')).code, 354)
  t.match((await dialog.data('From: bob@[192.0.2.1]\r\nSubject: here\r\n\r\nx')).text, /^250 /)
  const [message] = await messages()
  t.match(message, { mailFrom: 'bob@[192.0.2.1]', verdict: 'spam' })
  t.match(JSON.parse(message!.authentication), { spf: 'none', dmarc: 'permerror' })
})

t.test(
  'postmaster at an address of ours is postmaster here, and nobody else is (RFC 5321 §4.5.1)',
  async t => {
    const { app, inbox, messages } = await openDoor(t, {
      toml: '[delivery]\nmode = "mx"\npublic_addresses = ["192.0.2.7", "2001:db8::7"]',
    })
    const ann = await inbox('ann')
    const write = (to: string) => send(app, operator, ann, { to, subject: to, body: 'b' }, to)
    const ours = ['postmaster@[192.0.2.7]', 'Postmaster@[IPv6:2001:DB8:0::7]', 'postmaster@[127.0.0.1]']
    for (const to of ours) await write(to)
    const { messageId } = await write('ann@[192.0.2.7]')
    await carryAll(app)
    const told = (await messages()).filter(({ toAddr }) => toAddr === 'postmaster@ours.example')
    t.strictSame(new Set(told.map(({ subject }) => subject)), new Set(ours))
    t.match(await listMessageDeliveries(app, operator, messageId), [{ state: 'failed' }])
  },
)
