import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
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
