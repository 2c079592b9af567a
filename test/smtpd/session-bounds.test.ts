import t from 'tap'
import { systemClock } from '../../lib/base/time.ts'
import { smtpCommands, smtpRefusals } from '../../lib/smtpd/session-bounds.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { openDoor } from '../support/smtp-door.ts'

t.test('a session that goes on without a message ends', async t => {
  const { port, inbox } = await openDoor(t)
  await inbox('ann')
  for (const command of ['NOOP', 'RSET', 'VRFY ann', 'HELP', 'EHLO client.example']) {
    const dialog = await greetedDialog(port)
    dialog.write(`${command}\r\n`.repeat(smtpCommands))
    // EHLO was the first of them.
    for (let count = 1; count < smtpCommands; count++) {
      const { code } = await dialog.reply()
      if (code >= 300) t.fail(`${command} number ${count}: ${code}`)
    }
    t.match((await dialog.reply()).text, /^421 4\.7\.0 /, command)
    await dialog.closed().catch(() => '')
  }
})

t.test('a message begins the count anew, and of messages there may be so many', async t => {
  const { port, inbox, messages } = await openDoor(t, { maxMessages: 3 })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  for (let sent = 0; sent < 3; sent++) {
    // With MAIL, RCPT and DATA as many as there may be; before the first EHLO was one.
    const some = smtpCommands - (sent === 0 ? 4 : 3)
    dialog.write('NOOP\r\n'.repeat(some))
    for (let count = 0; count < some; count++) {
      if ((await dialog.reply()).code !== 250) t.fail('not 250')
    }
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data('Subject: x\r\n\r\ny')).code, 250)
  }
  t.match((await dialog.say('mail FROM:<bob@example.net>')).text, /^421 4\.7\.0 /)
  t.equal(await dialog.closed(), '')
  t.equal((await messages()).length, 3)
})

t.test('a session that is refused again and again ends, whoever refuses', async t => {
  const { port, inbox } = await openDoor(t)
  await inbox('ann')
  for (const command of [
    'DATA',
    'MAIL FROM:bob',
    'VRFY',
    'EXPN x',
    'RCPT TO:<ann@elsewhere.example>',
    'NOOP\0',
  ]) {
    const dialog = await greetedDialog(port)
    if (command.startsWith('RCPT')) await dialog.say('MAIL FROM:<bob@example.net>')
    dialog.write(`${command}\r\n`.repeat(smtpRefusals + 1))
    for (let count = 0; count < smtpRefusals; count++) {
      const { code } = await dialog.reply()
      if (code < 500) t.fail(`${command}: ${code}`)
    }
    t.match((await dialog.reply()).text, /^421 4\.7\.0 /, command)
    await dialog.closed().catch(() => '')
  }
})

t.test('who is put off is not refused, and a message makes up for no refusal', async t => {
  const clock = { ...systemClock, monotonicMs: () => 0 }
  const { port, inbox } = await openDoor(t, { clock, smtp: 'messages_per_minute_per_address = 1' })
  await inbox('ann')
  const dialog = await greetedDialog(port)
  for (let count = 1; count < smtpRefusals; count++) await dialog.say('DATA')
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.equal((await dialog.data('Subject: x\r\n\r\ny')).code, 250)
  for (let count = 0; count < 2 * smtpRefusals; count++) {
    const { code } = await dialog.say('MAIL FROM:<bob@example.net>')
    if (code !== 450) t.fail(`number ${count} was put off with ${code}`)
  }
  t.match((await dialog.say('DATA')).text, /^503 /, 'the last that it may have')
  t.match((await dialog.say('DATA')).text, /^421 4\.7\.0 /)
  t.equal(await dialog.closed(), '')
})
