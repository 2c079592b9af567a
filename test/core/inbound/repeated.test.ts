import { hash } from 'node:crypto'
import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { prepareReception, receive } from '../../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../../lib/core/inbound/recipient.ts'
import { createReceptionWriter } from '../../../lib/core/inbound/write-together.ts'
import { startApi } from '../../support/api-app.ts'
import { startDns } from '../../support/dns.ts'
import { greetedDialog } from '../../support/smtp-dialog.ts'
import { openDoor } from '../../support/smtp-door.ts'

const rawFiles = (dataDir: string) =>
  readdirSync(join(dataDir, 'raw'), { recursive: true, withFileTypes: true }).filter(file => file.isFile())
    .length

t.test('the same bytes under the same Message-ID are one message of an inbox', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t)
  await inbox('ann')
  await inbox('bob')
  const dialog = await greetedDialog(port)
  const deliver = async (text: string, ...to: readonly string[]) => {
    await dialog.envelope('eve@x.example', ...to.map(name => `${name}@ours.example`))
    t.equal((await dialog.data(text)).code, 250)
    return (await messages()).length
  }
  const text = (body: string, id = 'Message-ID: <1@x.example>\r\n') =>
    `From: eve@x.example\r\n${id}Subject: Hi\r\n\r\n${body}\r\n`
  t.equal(await deliver(text('Hello'), 'ann'), 1)
  t.equal(await deliver(text('Hello'), 'ann'), 1, 'again')
  t.equal(await deliver(text('Hello'), 'ann', 'bob'), 2, 'for the inbox that lacks it')
  t.equal(await deliver(text('Other'), 'ann'), 3, 'other bytes')
  t.equal(await deliver(text('Hello', ''), 'ann'), 4)
  t.equal(await deliver(text('Hello', ''), 'ann'), 5, 'without a Message-ID')
  const large = text(`${'x'.repeat(900)}\r\n`.repeat(400), 'Message-ID: <2@x.example>\r\n')
  t.equal(await deliver(large, 'ann'), 6)
  t.equal(await deliver(large, 'ann'), 6, 'a large one')
  t.equal(rawFiles(dataDir), 1, 'its file is removed')
})

t.test('a large message that is delivered again is recognised without reading the stored file', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const deliver = async (line: string) => {
    await dialog.envelope('eve@x.example', 'ann@ours.example')
    const text = `From: eve@x.example\r\nMessage-ID: <1@x.example>\r\n\r\n${line.repeat(400)}`
    t.equal((await dialog.data(text)).code, 250)
    return (await messages()).length
  }
  t.equal(await deliver(`${'x'.repeat(900)}\r\n`), 1)
  for (const folder of readdirSync(join(dataDir, 'raw'))) {
    for (const file of readdirSync(join(dataDir, 'raw', folder))) rmSync(join(dataDir, 'raw', folder, file))
  }
  t.equal(await deliver(`${'x'.repeat(900)}\r\n`), 1)
  t.equal(await deliver(`${'y'.repeat(900)}\r\n`), 2, 'other bytes of the same length')
})

t.test(
  'copies that arrive at the same time are one message, also when they are written together',
  async t => {
    const { app, api } = await startApi(t)
    await api.post('/v1/inboxes', { mailboxName: 'ann' })
    const receiver = createReceiver(app)
    const prepare = async (text: string) =>
      prepareReception(receiver, {
        sessionId: 's',
        mailFrom: 'eve@x.example',
        recipients: [await resolveRecipient(app, 'ann@ours.example')],
        content: { kind: 'memory', bytes: Buffer.from(text) },
        peer: { kind: 'local' },
      })
    const text = (body: string) => `From: eve@x.example\r\nMessage-ID: <1@x.example>\r\n\r\n${body}\r\n`
    const texts = [text('Hello'), text('Hello'), text('Other'), text('Hello'), text('Others')]
    const receptions = await Promise.all(texts.map(prepare))
    const ids = (await Promise.all(receptions.map(createReceptionWriter(app)))).flat()
    t.equal(ids.length, 5)
    t.equal(new Set([ids[0], ids[1], ids[3]]).size, 1, 'the same bytes')
    t.equal(new Set(ids).size, 3, 'other bytes, also of the same length')
    const { body } = await api.get('/v1/messages')
    t.equal(body.data.length, 3)
  },
)

t.test('a copy that proves nothing does not keep the message itself away', async t => {
  const dns = await startDns({
    'friend.example': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] },
    'evil.example': { TXT: ['v=spf1 -all'] },
  })
  t.teardown(() => dns.close())
  const { port, inbox, messages } = await openDoor(t, { dns: dns.server })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const deliver = async (mailFrom: string) => {
    await dialog.envelope(mailFrom, 'ann@ours.example')
    const text = 'From: bob@friend.example\r\nMessage-ID: <1@friend.example>\r\nSubject: Hi\r\n\r\nHello\r\n'
    t.equal((await dialog.data(text)).code, 250)
    return (await messages()).map(({ fromProven }) => fromProven)
  }
  t.strictSame(await deliver('x@evil.example'), [0])
  t.strictSame(await deliver('bob@friend.example'), [0, 1], 'the message itself')
  t.strictSame(await deliver('bob@friend.example'), [0, 1], 'again')
})

t.test('a stored message keeps its file if the check after its commit fails', async t => {
  const { app, inbox, dataDir, messages, log } = await openDoor(t)
  await inbox('ann')
  let isCommitted = false
  const store = Object.create(app.store, {
    writeHolding: {
      value: async (...given: Parameters<typeof app.store.writeHolding>) => {
        const written = await app.store.writeHolding(...given)
        isCommitted = true
        return written
      },
    },
    read: {
      get() {
        if (isCommitted) throw new Error('the database can not be read')
        return app.store.read
      },
    },
  })
  const path = app.blobs.spoolPath(app.ids.next())
  const text = `From: eve@x.example\r\nSubject: Hi\r\n\r\n${`${'x'.repeat(900)}\r\n`.repeat(400)}`
  writeFileSync(path, text)
  const ids = await receive(createReceiver(Object.create(app, { store: { value: store } })), {
    sessionId: 's',
    mailFrom: 'eve@x.example',
    recipients: [await resolveRecipient(app, 'ann@ours.example')],
    content: { kind: 'file', path, sizeBytes: text.length, sha256: hash('sha256', text) },
    peer: { kind: 'local' },
  })
  t.strictSame(
    ids,
    (await messages()).map(({ id }) => id),
  )
  t.equal(rawFiles(dataDir), 1)
  t.ok(log.some(({ level, msg }) => level === 'warn' && /file of a repeated message/.test(String(msg))))
})
