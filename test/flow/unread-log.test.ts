import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** More than a pipe and its reader keep. */
const unreadBytes = 200_000

t.test('nobody reads the log: mail is taken all the same, and what was kept is told later', async t => {
  const daemon = await startDaemon(t)
  await createInbox(daemon, 'ann')
  const log = daemon.process.stderr!
  log.pause()
  const before = daemon.log().length
  const helo = `${'h'.repeat(60)}.${'h'.repeat(60)}.example`
  const refusals = 19
  const refuse = async () => {
    const dialog = await greetedDialog(daemon.smtpPort)
    await dialog.say(`HELO ${helo}`)
    await dialog.say('MAIL FROM:<bob@example.net>')
    for (let count = 0; count < refusals; count++) await dialog.say(`RCPT TO:<nobody@${helo}>`)
    dialog.end()
  }
  const sessions = 50
  for (let count = 0; count < sessions; count += 10) await Promise.all(Array.from({ length: 10 }, refuse))
  const dialog = await greetedDialog(daemon.smtpPort)
  await dialog.envelope('bob@example.net', 'ann@ours.example')
  t.match((await dialog.data('Subject: s\r\n\r\nx\r\n')).text, /^250 /)
  t.equal((await fetch(`${daemon.baseUrl}/health`)).status, 200)

  log.resume()
  const refused = () => daemon.log().filter(({ msg }) => msg === 'refused').length
  await until('all is told', () => refused() === sessions * refusals)
  const told = daemon.log().slice(before)
  t.notOk(
    told.some(entry => !('level' in entry)),
    'each line is whole',
  )
  const bytes = told.reduce((sum, entry) => sum + JSON.stringify(entry).length, 0)
  t.ok(bytes > unreadBytes, `${bytes} bytes`)
})
