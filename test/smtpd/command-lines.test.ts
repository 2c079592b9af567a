import t from 'tap'
import { greetedDialog, openDialog, type SmtpDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

/** The next replies as their code and enhanced code. */
async function replies(dialog: SmtpDialog, count: number): Promise<string[]> {
  const said: string[] = []
  for (let index = 0; index < count; index++) said.push((await dialog.reply()).text.slice(0, 9))
  return said
}

t.test('who speaks before the greeting is refused', async t => {
  const { port, messages } = await openDoor(t, { smtp: 'greeting_delay = 30000' })
  for (const early of [
    'EHLO client.example\r\n',
    'x',
    '\r\n',
    '\0',
    'EHLO a\r\nMAIL FROM:<a@b.example>\r\n',
  ]) {
    const dialog = await openDialog(port)
    dialog.write(early)
    t.match((await dialog.reply()).text, /^554 5\.5\.1 .*greeting/, JSON.stringify(early))
    t.equal(await dialog.closed().catch(() => ''), '')
  }
  t.strictSame(await messages(), [])
})

t.test('the greeting comes after the delay, and at once for those that are trusted', async t => {
  const slow = await openDoor(t, { smtp: 'greeting_delay = 1' })
  t.equal((await (await openDialog(slow.port)).reply()).code, 220)
  const { port } = await openDoor(t, {
    smtp: 'greeting_delay = 30000\ntrusted_networks = ["127.0.0.2/32"]',
  })
  t.equal((await (await openDialog(port, '127.0.0.2')).reply()).code, 220)
})

t.test('who pipelines before EHLO is answered is refused', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const transaction =
    'MAIL FROM:<bob@example.net>\r\nRCPT TO:<ann@ours.example>\r\nDATA\r\nSubject: x\r\n\r\ny\r\n.\r\n'
  for (const early of [
    `EHLO client.example\r\n${transaction}`,
    `HELO client.example\r\n${transaction}`,
    'NOOP\r\nEHLO client.example\r\n',
    'EHLO client.example\r\nM',
  ]) {
    const dialog = await openDialog(port)
    await dialog.reply()
    dialog.write(early)
    t.match((await dialog.reply()).text, /^554 5\.5\.1 .*EHLO/, JSON.stringify(early.slice(0, 30)))
    await dialog.closed().catch(() => '')
  }
  t.strictSame(await messages(), [])
  const patient = await openDialog(port)
  await patient.reply()
  await patient.say('EHLO client.example')
  patient.write(transaction)
  t.strictSame(await replies(patient, 4), ['250 2.1.0', '250 2.1.5', '354 End d', '250 2.6.0'])
})

t.test('a bare CR or LF, or a NUL, in a command: 500, and it is not done', async t => {
  const { port, inbox, messages } = await openDoor(t)
  await inbox('ann')
  const dialog = await greetedDialog(port)
  const broken = [
    'MAIL FROM:<bob@example.net>\n',
    '\n',
    'MAIL FROM:<bob@example.net>\r\r\n',
    'MAIL\rFROM:<bob@example.net>\r\n',
    'NOOP\0\r\n',
    '\0\r\n',
    'MAIL FROM:<b\0ob@example.net>\r\n',
  ]
  for (const command of broken) {
    for (let cut = 0; cut < command.length; cut++) {
      const one = await greetedDialog(port)
      // That the NOOP is answered says that what came with it was read.
      one.write(`NOOP\r\n${command.slice(0, cut)}`)
      await one.reply()
      one.write(command.slice(cut))
      t.match((await one.reply()).text, /^500 5\.5\.2 /, `${JSON.stringify(command)} cut at ${cut}`)
      t.match(await one.say('DATA'), { code: 503 }, 'no transaction has begun')
      one.vanish()
    }
  }
  // What stands in one packet is looked at line by line.
  dialog.write(
    'NOOP\r\nNOOP\nMAIL FROM:<bob@example.net>\r\nRCPT TO:<ann@ours.example>\nRCPT TO:<ann@ours.example>\r\nDATA\n' +
      'DATA\r\nSubject: x\r\n\r\ny\r\n.\r\nNOOP\n',
  )
  t.strictSame(await replies(dialog, 9), [
    '250 2.0.0',
    '500 5.5.2',
    '250 2.1.0',
    '500 5.5.2',
    '250 2.1.5',
    '500 5.5.2',
    '354 End d',
    '250 2.6.0',
    '500 5.5.2',
  ])
  t.equal((await messages()).length, 1)
})

t.test('thousands of commands in one packet are done in order, and an endless line ends', async t => {
  const { port } = await openDoor(t)
  const dialog = await greetedDialog(port)
  dialog.write('NOOP\r\n'.repeat(1000))
  const codes = new Set<number>()
  for (let count = 0; count < 1000; count++) codes.add((await dialog.reply()).code)
  t.strictSame([...codes], [250])
  for (const filling of ['x', '\0']) {
    const endless = await greetedDialog(port)
    endless.write(filling.repeat(20_000))
    t.equal((await endless.reply()).code, 421, JSON.stringify(filling))
    endless.vanish()
  }
})
