import t, { type Test } from 'tap'
import { createInbox, getInbox } from '../../../lib/core/account/inboxes.ts'
import { addMember } from '../../../lib/core/account/members.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { startPeer } from '../../courier/smtp/scripted-peer.ts'
import { carryAll } from '../../support/carry-all.ts'
import { startDns } from '../../support/dns.ts'
import { freePort } from '../../support/ports.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const target = 'ann@elsewhere.example'

const report = (type: string, part: string) => `From: MAILER-DAEMON@elsewhere.example
Subject: returned
Content-Type: multipart/report; report-type=${type}; boundary=b

--b
Content-Type: text/plain

It came back.
--b
Content-Type: message/${type}

${part}
--b--`

const dsn = (recipient: string, status: string) =>
  report(
    'delivery-status',
    `Reporting-MTA: dns; mx.elsewhere.example\n\nFinal-Recipient: rfc822; ${recipient}\nAction: failed\nStatus: ${status}\nDiagnostic-Code: smtp; 550 ${status} gone`,
  )

/** An inbox that forwards to a member, and the server of that member. */
async function setUp(t: Test) {
  const mxPort = await freePort('127.0.0.23')
  const dns = await startDns({
    'elsewhere.example': { MX: [{ priority: 1, exchange: 'mx.elsewhere.example' }] },
    'mx.elsewhere.example': { A: ['127.0.0.23'] },
  })
  const peer = await startPeer('127.0.0.23', mxPort)
  t.teardown(() => Promise.all([dns.close(), peer.close()]))
  const { app, port, messages } = await openDoor(t, { dns: dns.server, mxPort })
  await addMember(app, { address: target })
  const inbox = await createInbox(app, operator, { mailboxName: 'agent', forwardTo: target })
  const dialog = await greetedDialog(port)
  const status = async () => (await getInbox(app, operator, inbox.id)).forwardStatus
  const copies = () =>
    app.store.read.selectFrom('delivery').selectAll().where('purpose', '=', 'forward').orderBy('id').execute()
  const copy = async () => {
    await dialog.envelope('bob@theirs.example', inbox.address)
    t.equal((await dialog.data('From: bob@theirs.example\r\n\r\nx')).code, 250)
    await carryAll(app)
    return (await copies()).at(-1)!
  }
  const giveBack = async (mailFrom: string | null, content: string) => {
    await dialog.envelope('', mailFrom!.toUpperCase())
    t.equal((await dialog.data(content.replaceAll('\n', '\r\n'))).code, 250)
  }
  return { app, copies, copy, giveBack, inbox, messages, peer, status, dialog }
}

t.test('what comes back of a copy is counted, and goes no further', async t => {
  const { app, copies, copy, giveBack, inbox, messages, peer, status } = await setUp(t)
  const first = await copy()
  await giveBack(first.mailFrom, dsn('other@elsewhere.example', '5.1.1'))
  await giveBack((await copy()).mailFrom, dsn(target, '5.7.1'))
  t.match(
    (await copies()).map(one => one.state),
    ['failed', 'failed'],
  )
  await copy()
  for (let count = 1; count <= 3; count++) {
    t.equal(await status(), 'active')
    await giveBack((await copy()).mailFrom, dsn(target, '5.1.1'))
  }
  t.equal(await status(), 'disabled')
  const rows = await app.store.read.selectFrom('suppression').select(['reason', 'podId']).execute()
  t.strictSame(rows, [{ reason: 'bounce', podId: inbox.podId }], 'for whom it came back to, and nobody else')
  t.equal((await messages()).length, 6, 'none of it is mail of the inbox')
  t.equal(peer.messages.length, 6, 'nor of anybody else')
})

t.test('who complains of a copy gets no more of them', async t => {
  const { app, copy, dialog, inbox, peer, status } = await setUp(t)
  const { mailFrom } = await copy()
  const complain = async (path: string) => {
    const content = report(
      'feedback-report',
      `Feedback-Type: abuse\nVersion: 1\nOriginal-Mail-From: <${path}>`,
    )
    await dialog.envelope('fbl@elsewhere.example', 'abuse@ours.example')
    t.equal((await dialog.data(content.replaceAll('\n', '\r\n'))).code, 250)
  }
  await complain(mailFrom!.replace(/(?<==)./, first => (first === 'x' ? 'y' : 'x')))
  t.equal(await status(), 'active', 'of no copy of ours')
  await complain(mailFrom!)
  t.equal(await status(), 'disabled')
  await copy()
  t.equal(peer.messages.length, 1)
  const rows = await app.store.read.selectFrom('suppression').select(['reason', 'podId']).execute()
  t.strictSame(
    rows,
    [{ reason: 'complaint', podId: inbox.podId }],
    'for whom it came back to, and nobody else',
  )
})
