import { readdirSync } from 'node:fs'
import t from 'tap'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { greetedDialog, openDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

const large = `${'x'.repeat(998)}\r\n`.repeat(600)

t.test('file descriptors are used up: who is in is served, nothing is lost, and it heals', async t => {
  const daemon = await startDaemon(t)
  const { id, api } = await createInbox(daemon, 'ann')
  const pid = daemon.process.pid!
  const limit = async (descriptors: string) => {
    const run = await runProgram('prlimit', [`--pid=${pid}`, `--nofile=${descriptors}`])
    if (run.code !== 0) throw new Error(run.stderr)
  }
  const dialog = await greetedDialog(daemon.smtpPort)
  const mail = async (text: string) => {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    return (await dialog.data(`Subject: s\r\n\r\n${text}`)).text
  }
  t.match(await mail('x\r\n'), /^250 /)

  await limit('8:1024')
  t.match(await mail('x\r\n'), /^250 /, 'a small message needs none')
  t.match(await mail(large), /^45[12] 4\.3\./, 'a large one needs a file, and comes again')
  // Who connects now is turned away, or waits in the system's queue.
  const late = await openDialog(daemon.smtpPort).catch(() => undefined)
  t.match(await mail('x\r\n'), /^250 /)

  await limit('1024:1024')
  await until('it is well without a restart', () =>
    fetch(`${daemon.baseUrl}/health`).then(
      answer => answer.status === 200,
      () => false,
    ),
  )
  late?.vanish()
  t.match(await mail(large), /^250 /)
  t.equal((await api.get(`/v1/inboxes/${id}/messages`)).body.total, 4)
  const before = readdirSync(`/proc/${pid}/fd`).length
  t.ok(before < 100, `${before} are open`)
  t.equal(daemon.process.exitCode, null)
})
