import { readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { builtProgram } from '../support/built.ts'
import { settledContradictions } from '../support/consistency.ts'
import { startDaemon } from '../support/daemon.ts'
import { createInbox } from '../support/mailbox.ts'
import { runProgram } from '../support/program.ts'
import { isOnServers } from '../support/server-stories.ts'
import { greetedDialog } from '../support/smtp-dialog.ts'
import { until } from '../support/until.ts'

/** Files may be written up to this byte and no further. */
async function limitFiles(pid: number, bytes: number | 'unlimited') {
  const run = await runProgram('prlimit', [`--pid=${pid}`, `--fsize=${bytes}:unlimited`])
  if (run.code !== 0) throw new Error(run.stderr)
}

t.test('no file can be written: nothing is promised, all is told, and it goes on afterwards', async t => {
  const daemon = await startDaemon(t)
  const { id, token } = await createInbox(daemon, 'ann')
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const health = async () => (await fetch(`${daemon.baseUrl}/health`)).status
  const create = async () =>
    (await fetch(`${daemon.baseUrl}/v1/pods`, { method: 'POST', headers, body: '{}' })).status
  const messages = async () => {
    const answer = await fetch(`${daemon.baseUrl}/v1/inboxes/${id}/messages`, { headers })
    t.equal(answer.status, 200, 'what is there can be read')
    return ((await answer.json()) as { total: number }).total
  }
  const dialog = await greetedDialog(daemon.smtpPort)
  const mail = async () => {
    await dialog.envelope('bob@example.net', 'ann@ours.example')
    return dialog.data('Subject: s\r\n\r\nx\r\n')
  }
  t.equal(await health(), 200)
  t.match((await mail()).text, /^250 /)
  t.equal(await messages(), 1)

  const pid = daemon.process.pid!
  await limitFiles(pid, 0)
  t.equal(await health(), 503)
  t.match((await mail()).text, /^451 4\.3\.0 /, 'the sender keeps it')
  t.ok([500, 503].includes(await create()))
  t.equal(await messages(), 1)

  await limitFiles(pid, 'unlimited')
  await until('it is well without a restart', async () => (await health()) === 200)
  t.match((await mail()).text, /^250 /)
  t.equal(await create(), 201)
  t.equal(await messages(), 2)
  t.equal(await daemon.end('SIGTERM'), 0)
  t.strictSame(await settledContradictions(daemon.dataDir), [], 'nothing contradicts itself')
})

t.test('a disk that is full beside a daemon that is down is no damage', { skip: isOnServers }, async t => {
  const daemon = await startDaemon(t)
  t.equal(await daemon.end('SIGTERM'), 0)
  const withoutRoom = (...args: string[]) =>
    runProgram('prlimit', [
      '--fsize=4096:unlimited',
      process.execPath,
      builtProgram('mailboxctl'),
      `--config=${daemon.configPath}`,
      ...args,
    ])
  for (const depth of [[], ['--deep']]) {
    const { code, stdout, stderr } = await withoutRoom('doctor', ...depth)
    t.match([code, stderr], [1, ''])
    t.match(stdout, /\(database_not_checked\)\n +not checked: .*SQLITE_IOERR_SHMSIZE.*the disk is full/)
    t.notMatch(stdout, /damaged/)
  }
  t.match(await withoutRoom('verify'), {
    code: 70,
    stdout: '',
    stderr: /SQLITE_IOERR_SHMSIZE.*the disk is full/,
  })
  t.match(await daemon.ctl('verify'), { ok: true, findings: [] })
})

t.test('below min_free mailboxctl stores no more than the API does, and says what to do', async t => {
  const daemon = await startDaemon(t)
  await createInbox(daemon, 'ann')
  const send = () =>
    daemon.ctlResult(
      ...['message', 'send', 'ann@ours.example', '--to', 'bob@example.net', '--subject', 's', '--body', 'b'],
    )
  t.equal((await send()).code, 0)
  const config = readFileSync(daemon.configPath, 'utf8')
  writeFileSync(daemon.configPath, `min_free = ${2 ** 40}\n${config}`)
  const refused = await send()
  t.equal(refused.code, 1)
  t.match(JSON.parse(refused.stderr), {
    error: 'unavailable',
    message:
      /^The disk of this server is nearly full.* MB are free in \S+, and min_free asks for 1099512 MB: make room there \(df -h \S+\)/,
  })
  const status = await runProgram(process.execPath, [
    builtProgram('mailboxctl'),
    `--config=${daemon.configPath}`,
    'status',
  ])
  t.match(status.stdout, /^disk .* free \d+ MiB, which is less than min_free: mail is deferred \(452\)/m)
  const listed = await daemon.ctl('message', 'list', 'ann@ours.example')
  t.equal(listed.total, 1, 'what is there is read')
  t.match(await daemon.ctl('inbox', 'delete', 'ann@ours.example', '--yes'), { deleted: 'ann@ours.example' })
})

t.test(
  'the doctor tells of a disk that takes nothing more beside all else',
  { skip: isOnServers },
  async t => {
    const daemon = await startDaemon(t)
    await createInbox(daemon, 'ann')
    const { code, stdout, stderr } = await runProgram('prlimit', [
      '--fsize=1:unlimited',
      process.execPath,
      builtProgram('mailboxctl'),
      `--config=${daemon.configPath}`,
      ...['doctor', '--reach', '127.0.0.1'],
    ])
    t.match([code, stderr], [1, ''], stdout)
    t.match(stdout, /\(database_not_checked\)\n +not checked: .*\(SQLITE_\w+\)/)
    t.match(stdout, /\(certificate_self_signed\)/, 'and of what needs no rows')
  },
)
