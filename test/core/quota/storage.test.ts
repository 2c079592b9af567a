import { randomUUID } from 'node:crypto'
import t, { type Test } from 'tap'
import { createInbox } from '../../../lib/core/account/inboxes.ts'
import { createPod } from '../../../lib/core/account/pods.ts'
import { operator } from '../../../lib/core/app/caller.ts'
import { changeDraft, createDraft, deleteDraft } from '../../../lib/core/drafts/drafts.ts'
import { sendDraft } from '../../../lib/core/drafts/send.ts'
import { deleteMessage } from '../../../lib/core/mailbox/deletion.ts'
import { send } from '../../../lib/core/outbound/send.ts'
import { getUsage } from '../../../lib/core/quota/usage.ts'
import { readStatus } from '../../../lib/core/status.ts'
import { findInbox } from '../../../lib/store/inboxes.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const kib = 1024
const filling = `${'x'.repeat(62)}\r\n`.repeat(160)
/** About 10 KiB with its header and the trace. */
const mailOf = (subject: string) => `From: ann@there.example\r\nSubject: ${subject}\r\n\r\n${filling}`

const attachmentOf = (bytes: number) => ({
  filename: 'a.bin',
  contentType: 'application/octet-stream',
  content: Buffer.alloc(bytes).toString('base64'),
})

async function setUp(t: Test, toml: string, breaks: readonly string[] = []) {
  const door = await openDoor(t, { toml: `[delivery]\nmode = "capture"\n${toml}`, breaks })
  const dialog = await greetedDialog(door.port)
  const stored = async (inboxId: string) => (await findInbox(door.app.store.read, inboxId))!.storedKiB
  return {
    ...door,
    dialog,
    stored,
    async mail(rcptTo: string, subject = 'Hello') {
      await dialog.say('MAIL FROM:<ann@there.example> SIZE=1000')
      const { code, text } = await dialog.say(`RCPT TO:<${rcptTo}>`)
      if (code !== 250) return { code, text }
      await dialog.say('DATA')
      return dialog.data(mailOf(subject))
    },
    write: (inboxId: string, body = 'x') =>
      send(door.app, operator, inboxId, { to: 'bob@there.example', subject: 'x', body }, randomUUID()),
  }
}

t.test('a full inbox accepts no mail and sends none until something is deleted', async t => {
  const { app, dialog, mail, write, stored, inbox, messages } = await setUp(
    t,
    `[storage]\ninbox_bytes = ${30 * kib}`,
  )
  const inboxId = await inbox('agent')
  const other = await inbox('other')
  t.match(await mail('agent@ours.example', 'one'), { code: 250 })
  t.match(await mail('agent@ours.example', 'two'), { code: 250 })
  t.equal(await stored(inboxId), 22)
  t.match(
    await mail('agent@ours.example', 'three'),
    { code: 452, text: /4\.2\.2/ },
    'the write refuses a message that does not fit',
  )
  t.equal(await stored(inboxId), 22, 'and counts nothing of it')
  t.equal((await messages()).length, 2)
  await write(inboxId, 'x'.repeat(1000))
  await t.rejects(write(inboxId, 'x'.repeat(8000)), { code: 'storage_full' }, 'nor does a send')
  t.equal(await stored(inboxId), 24)
  const draft = await createDraft(app, operator, inboxId, { body: 'x', attachments: [attachmentOf(5 * kib)] })
  t.equal(await stored(inboxId), 30)
  t.match(await dialog.say('MAIL FROM:<ann@there.example> SIZE=1000'), { code: 250 })
  t.match(await dialog.say('RCPT TO:<agent@ours.example>'), { code: 452, text: /4\.2\.2/ })
  t.match(await dialog.say('RCPT TO:<other@ours.example>'), { code: 250 }, 'other inboxes have room')
  t.match(await dialog.say('RSET'), { code: 250 })
  await t.rejects(write(inboxId), {
    code: 'storage_full',
    message: /this inbox would store 31744 bytes, and its limit is 30720 \(storage\.inbox_bytes\)/,
  })
  await t.rejects(createDraft(app, operator, inboxId, { body: 'x' }), { code: 'storage_full' })
  t.match((await getUsage(app, operator, { inboxId })).limits, {
    inboxStorage: { used: 30 * kib, limit: 30 * kib },
    podStorage: { used: 30 * kib, limit: null },
  })
  t.match(await readStatus(app), { full: { inboxes: 1, pods: 0 } })
  await deleteMessage(app, operator, (await messages())[0]!.id)
  await deleteDraft(app, operator, draft.id)
  t.equal(await stored(inboxId), 13)
  t.match(await mail('agent@ours.example', 'four'), { code: 250 })
  t.equal(await stored(other), 0)
})

t.test('a full inbox does not keep a message from the others that it is for', async t => {
  const { dialog, inbox, stored } = await setUp(t, `[storage]\ninbox_bytes = ${15 * kib}`)
  const [full, other] = [await inbox('full'), await inbox('other')]
  const begin = async (...rcptTo: readonly string[]) => {
    await dialog.say('MAIL FROM:<ann@there.example> SIZE=10240')
    const codes = []
    for (const path of rcptTo) codes.push((await dialog.say(`RCPT TO:<${path}@ours.example>`)).code)
    await dialog.say('DATA')
    return codes
  }
  t.strictSame(await begin('full'), [250])
  t.match(await dialog.data(mailOf('first')), { code: 250 })
  t.strictSame(await begin('full', 'other'), [452, 250])
  t.match(await dialog.data(mailOf('both')), { code: 250 })
  t.strictSame([await stored(full), await stored(other)], [11, 11])
  await dialog.say('QUIT')
})

t.test('one message to many inboxes does not fill their pod beyond its limit', async t => {
  const { app, dialog } = await setUp(t, `[storage]\npod_bytes = ${35 * kib}`)
  const pod = await createPod(app, { name: 'tenant' })
  const names = ['one', 'two', 'three', 'four', 'five']
  for (const mailboxName of names) await createInbox(app, operator, { mailboxName, podId: pod.id })
  await dialog.say('MAIL FROM:<ann@there.example> SIZE=10300')
  const codes = []
  for (const name of names) codes.push((await dialog.say(`RCPT TO:<${name}@ours.example>`)).code)
  t.strictSame(codes, [250, 250, 250, 452, 452])
  await dialog.say('DATA')
  t.match(await dialog.data(mailOf('to all')), { code: 250 })
  await dialog.say('MAIL FROM:<ann@there.example> SIZE=10')
  for (const name of names) t.match(await dialog.say(`RCPT TO:<${name}@ours.example>`), { code: /250|452/ })
  await dialog.say('DATA')
  t.match(await dialog.data(mailOf('larger than announced')), { code: 452 })
  await dialog.say('QUIT')
})

t.test('a bounce of our own mail reaches a full inbox', async t => {
  const { app, dialog, inbox, write, stored } = await setUp(t, `[storage]\ninbox_bytes = ${4 * kib}`, [
    'storage',
  ])
  const inboxId = await inbox('agent')
  await write(inboxId)
  await app.store.write(db => db.updateTable('inbox').set({ storedKiB: 4 }).execute())
  const { mailFrom } = await app.store.read
    .selectFrom('delivery')
    .select('mailFrom')
    .executeTakeFirstOrThrow()
  await dialog.envelope('', mailFrom!)
  t.match(await dialog.data(mailOf('Undeliverable')), { code: 250 })
  t.ok((await stored(inboxId)) > 4)
  await dialog.say('QUIT')
})

t.test('messages that arrive together do not fill an inbox beyond its limit', async t => {
  const { port, inbox, stored } = await setUp(t, `[storage]\ninbox_bytes = ${35 * kib}`)
  const inboxId = await inbox('agent')
  const dialogs = await Promise.all(Array.from({ length: 8 }, () => greetedDialog(port)))
  for (const dialog of dialogs) {
    await dialog.say('MAIL FROM:<ann@there.example> SIZE=1000')
    await dialog.say('RCPT TO:<agent@ours.example>')
    await dialog.say('DATA')
  }
  const replies = await Promise.all(dialogs.map((dialog, index) => dialog.data(mailOf(`number ${index}`))))
  t.equal(replies.filter(({ code }) => code === 250).length, 3)
  t.equal(replies.filter(({ code }) => code === 452).length, 5)
  t.equal(await stored(inboxId), 33)
})

t.test('a pod has its limit for all of its inboxes together, the default pod has none', async t => {
  const { app, dialog, mail, write, inbox } = await setUp(t, `[storage]\npod_bytes = ${25 * kib}`)
  const pod = await createPod(app, { name: 'tenant' })
  const names = ['one', 'two', 'three']
  const made = []
  for (const mailboxName of names) {
    made.push(await createInbox(app, operator, { mailboxName, podId: pod.id }))
  }
  await inbox('own')
  for (const name of ['own', 'own', 'own', 'one', 'two']) {
    t.match(await mail(`${name}@ours.example`, `${name} ${randomUUID()}`), { code: 250 }, name)
  }
  t.match(await mail('three@ours.example'), { code: 452, text: /4\.2\.2/ })
  await write(made[2]!.id, 'x'.repeat(1500))
  const limits = { podStorage: { used: 25 * kib, limit: 25 * kib } }
  t.match((await getUsage(app, operator, { inboxId: made[0]!.id })).limits, limits)
  t.match(await readStatus(app), { full: { inboxes: 0, pods: 1 } })
  t.match(await mail('own@ours.example', 'still'), { code: 250 })
  await dialog.say('QUIT')
})

t.test(
  'the text of a draft counts until it is deleted, and its attachments until it is deleted or sent',
  async t => {
    const { app, inbox, stored } = await setUp(t, `[storage]\ninbox_bytes = ${100 * kib}`)
    const inboxId = await inbox('agent')
    const attachments = [attachmentOf(10 * kib)]
    const draft = await createDraft(app, operator, inboxId, {
      to: ['bob@there.example'],
      subject: 'x',
      body: 'x',
      attachments,
    })
    t.equal(await stored(inboxId), 11)
    const second = await createDraft(app, operator, inboxId, { body: 'x', attachments })
    t.equal(await stored(inboxId), 22)
    await deleteDraft(app, operator, second.id)
    t.equal(await stored(inboxId), 11)
    await sendDraft(app, operator, draft.id, randomUUID())
    const [message] = await app.store.read.selectFrom('raw').select('sizeBytes').execute()
    const sent = Math.ceil(message!.sizeBytes / kib)
    t.equal(await stored(inboxId), sent + 1)
    await deleteDraft(app, operator, draft.id)
    t.equal(await stored(inboxId), sent)
    const text = 'x'.repeat(40 * kib)
    const { id } = await createDraft(app, operator, inboxId, { body: text, bodyHtml: text })
    t.equal(await stored(inboxId), sent + 80)
    await t.rejects(changeDraft(app, operator, id, { body: 'x'.repeat(60 * kib) }), { code: 'storage_full' })
    await t.rejects(createDraft(app, operator, inboxId, { body: text }), { code: 'storage_full' })
    await changeDraft(app, operator, id, { body: 'x', bodyHtml: null })
    t.equal(await stored(inboxId), sent + 1)
    for (const size of [60, 70]) {
      await changeDraft(app, operator, id, { attachments: [attachmentOf(size * kib)] })
      t.equal(await stored(inboxId), sent + 1 + size, 'what is replaced makes room')
    }
  },
)

t.test('postmaster accepts mail whatever the limit is', async t => {
  const { mail, dialog } = await setUp(t, '[storage]\ninbox_bytes = 1')
  t.match(await mail('postmaster@ours.example'), { code: 250 })
  await dialog.say('QUIT')
})
