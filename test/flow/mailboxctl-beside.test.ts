import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'

t.test('while the daemon writes without a pause, mailboxctl reads and writes beside it', async t => {
  const daemon = await startDaemon(t)
  const { id, api } = await createInbox(daemon, 'ann')
  let isOver = false
  let written = 0
  const mail = async () => {
    const dialog = await greetedDialog(daemon.smtpPort)
    for (; !isOver; written++) {
      await dialog.envelope('bob@example.net', 'ann@ours.example')
      t.equal((await dialog.data(`Subject: s\r\n\r\n${'x'.repeat(900)}\r\n`)).code, 250)
    }
    dialog.end()
  }
  const make = async () => {
    for (; !isOver; written++) t.equal((await api.post('/v1/pods', { name: 'p' })).status, 201)
  }
  const working = [mail(), mail(), make(), make()]
  try {
    for (const command of [
      'inbox create --mailbox-name bea',
      'key create',
      'pod list',
      'queue list',
      'inbox list',
    ]) {
      const before = written
      t.match(await daemon.ctlResult(...command.split(' ')), { code: 0, stderr: '' }, command)
      t.ok(written > before, 'and the daemon wrote meanwhile')
    }
  } finally {
    isOver = true
    await Promise.all(working)
  }
  t.match(await api.get(`/v1/inboxes/${id}/messages`), { status: 200 })
  t.strictSame(
    daemon.log().filter(({ level }) => level === 'error'),
    [],
  )
})
