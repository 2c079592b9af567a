import t, { type Test } from 'tap'
import { changeInbox, createInbox } from '../../../lib/core/account/inboxes.ts'
import { addMember } from '../../../lib/core/account/members.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { createWebhooks } from '../../../lib/core/webhooks/tell.ts'
import { claim } from '../../support/claim.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'
import { type Reply, startWebhookReceiver } from '../../support/webhook-receiver.ts'

const target = 'ann@elsewhere.example'

/** An inbox with a webhook, whose mail goes to a member when nobody takes it. */
async function setUp(t: Test, replies: readonly Reply[], retry: readonly string[]) {
  const receiver = await startWebhookReceiver(t, (_call, number) => replies[number - 1] ?? { status: 204 })
  const allowed = 'allow_http = true\nallow_networks = ["127.0.0.0/8"]'
  const door = await openDoor(t, { toml: `[webhook]\n${allowed}\nretry = ${JSON.stringify(retry)}` })
  const { app } = door
  await addMember(app, { address: target })
  const inbox = await createInbox(app, operator, {
    mailboxName: 'agent',
    webhookUrl: receiver.url,
    forwardTo: target,
    forwardWhen: 'webhook_failed',
  })
  const dialog = await greetedDialog(door.port)
  const webhooks = createWebhooks(app, Math.random)
  const copies = async () => {
    const rows = await app.store.read
      .selectFrom('delivery')
      .select(['recipient', 'messageId'])
      .where('purpose', '=', 'forward')
      .execute()
    return rows.map(row => [row.recipient, row.messageId])
  }
  return {
    ...{ app, inbox, receiver, copies },
    async mail() {
      await dialog.envelope('bob@theirs.example', inbox.address)
      t.equal((await dialog.data('From: bob@theirs.example\r\nSubject: s\r\n\r\nx\r\n')).code, 250)
      return (await door.messages()).at(-1)!.id
    },
    async tell() {
      const due = await claim(app.queue, 'webhook', 10)
      await Promise.all(due.map(webhooks.tell))
      return due.length
    },
  }
}

t.test('mail that the webhook has not taken after all retries goes to a person, once', async t => {
  const { mail, tell, copies, receiver, app } = await setUp(t, [{ status: 500 }, { status: 500 }], ['1ms'])
  const id = await mail()
  t.strictSame(await copies(), [])
  t.equal(await tell(), 1)
  t.strictSame(await copies(), [], 'it may be taken yet')
  while ((await tell()) === 0);
  t.equal(receiver.calls.length, 2)
  t.strictSame(await copies(), [[target, id]])
  t.equal(
    (await app.store.read.selectFrom('webhookDelivery').select('state').executeTakeFirst())?.state,
    'failed',
  )
})

t.test('a 410 says at once that it will not be taken', async t => {
  const { mail, tell, copies } = await setUp(t, [{ status: 410 }], ['1h'])
  const id = await mail()
  await tell()
  t.strictSame(await copies(), [[target, id]])
})

t.test('mail that is taken stays', async t => {
  const { mail, tell, copies } = await setUp(t, [], [])
  await mail()
  await tell()
  t.strictSame(await copies(), [])
})

t.test('mail whose webhook is taken away before it was told goes to a person, too', async t => {
  const { mail, tell, copies, inbox, app } = await setUp(t, [], [])
  const id = await mail()
  await changeInbox(app, operator, inbox.id, { webhookUrl: null })
  await tell()
  t.strictSame(await copies(), [[target, id]])
})
