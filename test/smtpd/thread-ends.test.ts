import t from 'tap'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { openThreadedDoor } from '../support/threaded-door.ts'
import { until } from '../support/until.ts'

t.test('a thread that dies is replaced; the peers of the others notice nothing', async t => {
  const { port, inbox, messages, workers, log } = await openThreadedDoor(t, {
    smtp: 'max_connections_per_address = 4',
  })
  await inbox('ann')
  const dialogs = [await greetedDialog(port), await greetedDialog(port)]
  for (const dialog of dialogs) await dialog.envelope('bob@example.net', 'ann@ours.example')
  // In the middle of a message.
  for (const dialog of dialogs) dialog.write('Subject: x\r\n\r\nhel')
  await workers[0]!.terminate()
  const ends = dialogs.map(dialog => dialog.closed().then(() => dialog))
  const cutOff = await Promise.race(ends)
  const other = dialogs.find(dialog => dialog !== cutOff)!
  other.write('lo\r\n.\r\n')
  t.equal((await other.reply()).code, 250, 'the other message is taken')
  await until('another thread', () => workers.length === 3)
  t.match(log.find(({ level }) => level === 'error')?.msg, /thread of SMTP sessions ended/)
  const again = [await greetedDialog(port), await greetedDialog(port), await greetedDialog(port)]
  for (const dialog of again) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data('Subject: again\r\n\r\nhello')).code, 250)
  }
  t.equal((await messages()).length, 4, 'what was cut off was never promised')
  t.match(
    (await (await openDialog(port)).reply()).text,
    /^421 /,
    'the place of the dead one was given back, and no other',
  )
})

t.test('connections that come while a thread dies are greeted', async t => {
  const { port, workers } = await openThreadedDoor(t)
  const opened = []
  for (let count = 0; count < 40; count++) {
    if (count === 20) void workers[0]!.terminate()
    opened.push(await openDialog(port))
  }
  const replies = await Promise.allSettled(opened.map(dialog => dialog.reply()))
  const lost = replies.filter(({ status }) => status === 'rejected').length
  // Those that the dead one had been given; what was still to be accepted is greeted by others.
  t.ok(lost <= 21, `${lost} of 40 were lost`)
  t.equal((await (await openDialog(port)).reply()).code, 220)
})

t.test('to stop sends idle sessions away from all threads and ends messages under way', async t => {
  const { door, port, inbox, messages } = await openThreadedDoor(t)
  await inbox('ann')
  const dialogs = await Promise.all([greetedDialog(port), greetedDialog(port), greetedDialog(port)])
  const [inData, ...idle] = dialogs
  await inData!.envelope('bob@example.net', 'ann@ours.example')
  inData!.write('Subject: x\r\n\r\nhel')
  const stopping = door.stop()
  for (const dialog of idle) t.match((await dialog.reply()).text, /^421 4\.3\.2 /)
  inData!.write('lo\r\n.\r\n')
  t.equal((await inData!.reply()).code, 250)
  t.match((await inData!.reply()).text, /^421 4\.3\.2 /)
  for (const dialog of dialogs) dialog.vanish()
  await stopping
  t.equal((await messages()).length, 1)
})

t.test('threads without a connection end, and come again with the next', async t => {
  const { port, inbox, messages, workers, log } = await openThreadedDoor(t, { threadIdleMs: 1 })
  await inbox('ann')
  await until('their end', () => workers.every(({ threadId }) => threadId === -1))
  const had = workers.length
  const [early, late] = [await greetedDialog(port), await greetedDialog(port)]
  await until('others', () => workers.length >= had + 2)
  for (const dialog of [early, late]) {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    t.equal((await dialog.data('Subject: x\r\n\r\nhello')).code, 250, 'nobody was cut off')
    await dialog.say('QUIT')
    await dialog.closed()
  }
  t.equal((await messages()).length, 2)
  t.strictSame(
    log.filter(({ level }) => level === 'error'),
    [],
    'that is no fault',
  )
})
