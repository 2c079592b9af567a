import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { receive, receivedFields } from '../../lib/core/inbound/receive.ts'
import { createReceiver } from '../../lib/core/inbound/receiver.ts'
import { resolveRecipient } from '../../lib/core/inbound/recipient.ts'
import { headerBytes, headerLines } from '../../lib/mail/header/header.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'
import { until } from '../support/until.ts'

const filesIn = (dir: string) =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).length

t.test('what is stored is what was sent, dots and all', async t => {
  const { port, inbox, messages, raw } = await openDoor(t)
  await inbox('ann')
  const bodies = [
    '',
    '.',
    '..',
    '.x',
    '...',
    '.\r\n.',
    'a\r\n.\r\n..\r\n.b\r\n',
    '\r\n\r\n',
    '\x01 and \x7f and \xff',
    'x'.repeat(5000),
    `${'.\r\n'.repeat(500)}.`,
  ]
  const dialog = await greetedDialog(port)
  for (const body of bodies) {
    const content = `Subject: dots\r\n\r\n${body}\r\n`
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    const stuffed = content.replaceAll(/^\./gm, '..').replace(/\r\n$/, '')
    t.match(
      await dialog.data(Buffer.from(stuffed, 'latin1')),
      { code: 250 },
      JSON.stringify(body.slice(0, 20)),
    )
    const stored = (await messages()).at(-1)!
    t.equal((await raw(stored)).toString('latin1'), content)
  }
  for (const nothing of ['.\r\n', '..\r\n.\r\n', '\r\n.\r\n']) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    dialog.write(nothing)
    t.match(await dialog.reply(), { code: 250 }, `no header at all: ${JSON.stringify(nothing)}`)
    const stored = (await messages()).at(-1)!
    t.equal((await raw(stored)).toString(), nothing.slice(0, -3).replace('..', '.'))
  }
})

t.test('the log has the address that brought a message, and none where an inbox here did', async t => {
  const { app, port, inbox, log } = await openDoor(t)
  await inbox('ann')
  const content = 'Subject: x\r\n\r\nx\r\n'
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match(await dialog.data(content), { code: 250 })
  await receive(createReceiver(app), {
    sessionId: 'delivery',
    mailFrom: 'bea@ours.example',
    recipients: [await resolveRecipient(app, 'ann@ours.example')],
    content: { kind: 'memory', bytes: Buffer.from(content) },
    peer: { kind: 'local' },
  })
  const received = log.filter(({ msg }) => msg === 'message received')
  t.match(received, [
    { mailFrom: 'bob@example.net', remoteAddress: '127.0.0.1' },
    { mailFrom: 'bea@ours.example', remoteAddress: undefined },
  ])
})

t.test('content that comes in any chunks is the same', async t => {
  const { port, inbox, messages, raw } = await openDoor(t)
  await inbox('ann')
  const content = 'Subject: x\r\n\r\n..\r\n...\r\n\r\n.. .\r\n'
  for (const size of [1, 2, 3, 5, 7]) {
    const dialog = await greetedDialog(port)
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    const bytes = `${content}.\r\n`
    for (let at = 0; at < bytes.length; at += size) {
      dialog.write(bytes.slice(at, at + size))
      await new Promise(resolve => setImmediate(resolve))
    }
    t.equal((await dialog.reply()).code, 250)
    t.equal((await raw((await messages()).at(-1)!)).toString(), content.replaceAll(/^\./gm, ''))
  }
})

t.test('a bare CR or LF is refused after the final dot, and nothing is kept', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t)
  await inbox('ann')
  const filler = `${'x'.repeat(998)}\r\n`.repeat(400)
  const broken = ['a\nb', 'a\rb', '\n', '\r', '\r\r\n', '\n\r\n', `${filler}a\nb`, `a\nb\r\n${filler}`]
  for (const body of broken) {
    const dialog = await greetedDialog(port)
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.match((await dialog.data(`Subject: x\r\n\r\n${body}`)).text, /^550 5\.6\.0 /)
  }
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match((await dialog.data('Subject: x\nTo: y\r\n\r\nz')).text, /^550 5\.6\.0 /, 'in the header')
  t.strictSame(await messages(), [])
  t.equal(filesIn(join(dataDir, 'spool')), 0)
  t.equal(filesIn(join(dataDir, 'raw')), 0)
})

t.test('a NUL is refused after the final dot, and nothing is kept', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t)
  await inbox('ann')
  const filler = `${'x'.repeat(998)}\r\n`.repeat(400)
  const contents = ['\0', 'Subject: x\0\r\n\r\ny', 'Subject: x\r\n\r\n\0', `Subject: x\r\n\r\n${filler}\0y`]
  for (const content of contents) {
    const dialog = await greetedDialog(port)
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.match((await dialog.data(content)).text, /^550 5\.6\.0 .*NUL/)
  }
  t.strictSame(await messages(), [])
  t.equal(filesIn(join(dataDir, 'spool')), 0)
})

t.test('nothing behind a broken message is done, be it in the same packet', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const next =
    'MAIL FROM:<eve@example.net>\r\nRCPT TO:<ann@ours.example>\r\nDATA\r\nSubject: y\r\n\r\ny\r\n.\r\n'
  for (const end of ['\r\r\n.\r\n', '\0\r\n.\r\n', '\n\r\n.\r\n']) {
    for (const isAtOnce of [true, false]) {
      const dialog = await greetedDialog(port)
      await dialog.envelope('bob@example.net', 'ann@ours.example')
      dialog.write(`Subject: x\r\n\r\nx${end}${isAtOnce ? next : ''}`)
      t.match((await dialog.reply()).text, /^550 5\.6\.0 /)
      if (!isAtOnce) dialog.write(next)
      t.match((await dialog.reply()).text, /^421 4\.7\.0 /)
      // Cut off with commands unread, it may be reset.
      t.notMatch(await dialog.closed().catch(() => ''), /^[23]/m)
    }
  }
  t.strictSame(await messages(), [])
})

const smuggling = join(import.meta.dirname, '../data/smuggling/sequences.json')

t.test('no smuggling sequence ends a message', async t => {
  const { port, inbox, messages, hasRead } = await openDoor(t)
  await inbox('ann')
  const sequences = JSON.parse(readFileSync(smuggling, 'utf8')).end_of_data_must_not_terminate as string[]
  t.ok(sequences.length >= 12)
  for (const sequence of sequences) {
    for (const cut of [0, 1, 2, 3]) {
      const before = (await messages()).length
      const dialog = await greetedDialog(port)
      await dialog.envelope('bob@example.net', 'ann@ours.example')
      const hidden =
        'MAIL FROM:<eve@example.net>\r\nRCPT TO:<ann@ours.example>\r\nDATA\r\nSubject: smuggled\r\n\r\nx'
      const content = `Subject: x\r\n\r\nfirst${sequence}${hidden}`
      const at = content.indexOf('first') + 5 + cut
      // The border of two packets lies in the sequence.
      dialog.write(content.slice(0, at))
      await hasRead(dialog)
      const reply = await dialog.data(content.slice(at))
      const stored = await messages()
      const name = `${JSON.stringify(sequence)} cut at ${cut}: ${reply.text}`
      t.match(reply.text, /^550 5\.6\.0 /, name)
      t.equal(stored.length, before, name)
      t.match((await dialog.reply()).text, /^421 4\.7\.0 /, 'that is all there is')
    }
  }
  t.notOk((await messages()).some(message => message.subject === 'smuggled'))
})

t.test('the header: 256 KiB, 5000 lines, 100 Received, and not one more', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const say = async (header: string, body = '\r\nx') => {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    return (await dialog.data(header + body)).text
  }
  const filled = (length: number) => {
    const line = `X: ${'x'.repeat(93)}\r\n`
    const all = line.repeat(Math.floor(length / line.length) - 1)
    return `${all}X: ${'x'.repeat(length - all.length - 5)}\r\n`
  }
  t.equal(filled(headerBytes).length, headerBytes)
  t.match(await say(filled(headerBytes)), /^250 /)
  t.match(await say(filled(headerBytes + 1)), /^552 5\.3\.4 /)
  t.match(await say('X: y\r\n'.repeat(headerLines)), /^250 /)
  t.match(await say('X: y\r\n'.repeat(headerLines + 1)), /^552 5\.3\.4 /)
  t.match(await say(`X: y\r\n${' z\r\n'.repeat(headerLines)}`), /^552 5\.3\.4 /, 'one long field')
  t.match(await say('x'.repeat(headerBytes + 100), ''), /^552 5\.3\.4 /, 'no line at all')
  const large = `\r\n${`${'x'.repeat(998)}\r\n`.repeat(300)}x`
  t.match(await say(filled(headerBytes + 1), large), /^552 5\.3\.4 /, 'in a spool file as well')
  const received = 'Received: from a by b; Fri, 20 Nov 2026 10:00:00 +0000\r\n'
  t.match(await say(received.repeat(receivedFields)), /^250 /)
  t.match(await say(received.repeat(receivedFields + 1)), /^554 5\.4\.6 /)
  t.match(await say(received.repeat(receivedFields + 1), large), /^554 5\.4\.6 /)
  t.equal((await messages()).length, 3)
  t.equal(
    filesIn(join(dataDir, 'spool')) + filesIn(join(dataDir, 'raw')),
    1,
    'that of the large one; no file of a refused one stays',
  )
})

t.test('over the size: refused after the data; far over it: cut off', async t => {
  const { port, inbox, messages, dataDir } = await openDoor(t, { smtp: 'max_size = 300000' })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const content = (size: number) => {
    const head = 'Subject: x\r\n\r\n'
    return head + `${'x'.repeat(98)}\r\n`.repeat(Math.ceil(size / 100)).slice(head.length - size + 2)
  }
  t.equal(content(300_000).length, 299_998)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match((await dialog.data(content(300_000))).text, /^250 /, 'exactly the size')
  for (const size of [300_001, 500_000]) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.match((await dialog.data(content(size))).text, /^552 5\.3\.4 /, String(size))
  }
  await dialog.say('MAIL FROM:<bob@example.net> SIZE=0')
  await dialog.say('RCPT TO:<ann@ours.example>')
  await dialog.say('DATA')
  t.match((await dialog.data(content(400_000))).text, /^552 5\.3\.4 /, 'declared small')
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match((await dialog.data('Subject: x\r\n\r\nx')).text, /^250 /, 'and the session goes on')

  await dialog.envelope('bob@example.net', 'ann@ours.example')
  const block = `${'x'.repeat(998)}\r\n`.repeat(100)
  for (let count = 0; count < 14; count++) dialog.write(block)
  t.match((await dialog.reply()).text, /^552 5\.3\.4 /, 'said before the end, for there may be none')
  await dialog.closed().catch(() => {})
  await until('no spool file', () => filesIn(join(dataDir, 'spool')) === 0)
  t.equal((await messages()).length, 2)
  t.equal(filesIn(join(dataDir, 'raw')), 1)
})

t.test('a message of 5 MB goes through a file and is byte for byte the same', async t => {
  const { app, port, inbox, messages, raw, dataDir } = await openDoor(t)
  await inbox('ann')
  const warnings: Error[] = []
  const note = (warning: Error) => warnings.push(warning)
  process.on('warning', note)
  t.teardown(() => process.off('warning', note))
  const lines = Array.from(
    { length: 70_000 },
    (_, index) => `${index} `.padEnd(72, 'abc.') + (index % 7 ? '' : '.'),
  )
  const content = `Subject: large\r\n\r\n${lines.join('\r\n..')}\r\n`
  t.ok(content.length > 5 * 1024 * 1024)
  const dialog = await greetedDialog(port)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match(await dialog.data(content.slice(0, -2)), { code: 250 })
  const [stored] = await messages()
  t.ok((await raw(stored!)).equals(Buffer.from(content.replaceAll(/^\./gm, ''))))
  const row = await app.store.read.selectFrom('raw').selectAll().executeTakeFirstOrThrow()
  t.equal(row.content, null)
  t.equal(row.sizeBytes, content.replaceAll(/^\./gm, '').length)
  t.equal(filesIn(join(dataDir, 'raw')), 1)
  t.equal(filesIn(join(dataDir, 'spool')), 0)
  await new Promise(resolve => setImmediate(resolve))
  t.strictSame(warnings.map(String), [], 'no listeners pile up')
})

t.test('an inbox that is deleted between RCPT and DATA gets nothing, and the peer is told', async t => {
  const { app, port, inbox, messages } = await openDoor(t)
  const { deleteInbox } = await import('../../lib/core/account/inboxes.ts')
  const { operator } = await import('../../lib/core/app/caller.ts')
  for (const names of [['ann'], ['bea', 'cat']]) {
    const ids = await Promise.all(names.map(name => inbox(name)))
    const dialog = await greetedDialog(port)
    await dialog.envelope('bob@example.net', ...names.map(name => `${name}@ours.example`))
    for (const id of ids) await deleteInbox(app, operator, id)
    t.match((await dialog.data('Subject: late\r\n\r\nx')).text, /^550 5\.1\.1 /, names.join())
  }
  t.strictSame(await messages(), [])
  t.strictSame(await app.store.read.selectFrom('raw').select('id').execute(), [], 'no raw without a message')
})
