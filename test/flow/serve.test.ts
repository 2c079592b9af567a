import { once } from 'node:events'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { apiOf } from '../support/api.ts'
import { builtProgram } from '../support/built.ts'
import { startLocalDaemon } from '../support/local-daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

const withoutCurl = existsSync('/usr/bin/curl') ? false : 'curl is not installed'

t.test('the first start prints what to paste, and it works as printed', { skip: withoutCurl }, async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  t.strictSame(readdirSync(dir), ['mailboxd-data'])
  t.equal(statSync(join(dir, 'mailboxd-data')).mode & 0o777, 0o700)
  const key = /^ {2}key +(\S+) /m.exec(daemon.printed)?.[1]
  t.match(daemon.printed, /^ {2}inbox +hello@mailboxd\.localhost$/m)

  // Commands are the indented lines under a sentence that ends with a colon.
  const commands = daemon.printed.split('\n').filter(line => /^ {2}(export|printf|curl|[A-Z]+=\$)/.test(line))
  t.equal(commands.length, 5, commands.join('\n'))
  const paste = (lines: string[]) => runProgram('sh', ['-e'], lines.join('\n'), { cwd: dir })
  const [setUp, sendMail, list, findThread, reply] = commands as [string, string, string, string, string]

  const before = await paste([setUp, list])
  t.equal(before.code, 0, before.stderr)
  t.match(JSON.parse(before.stdout), { data: [], total: 0 })
  const sent = await paste([setUp, sendMail])
  t.equal(sent.code, 0, sent.stderr)
  const listed = await paste([setUp, list])
  t.match(JSON.parse(listed.stdout), {
    total: 1,
    data: [{ subject: 'Hi', fromAddr: 'ann@example.com', bodyText: /Are you there\?/, direction: 'inbound' }],
  })
  const replied = await paste([setUp, findThread, reply])
  t.equal(replied.code, 0, replied.stderr)
  const answer = JSON.parse(replied.stdout)
  t.match(answer, { status: 'pending', threadId: JSON.parse(listed.stdout).data[0].threadId })

  // The reply is captured: shown as sent, and never leaves the machine.
  const api = apiOf(daemon.baseUrl, key)
  const message = await until('the reply sent', async () => {
    const { body } = await api.get(`/v1/messages/${answer.messageId}`)
    return body.status === 'pending' ? undefined : body
  })
  t.match(message, {
    status: 'sent',
    subject: 'Re: Hi',
    inReplyTo: JSON.parse(listed.stdout).data[0].rfcMessageId,
  })
  const { body: deliveries } = await api.get(`/v1/messages/${answer.messageId}/deliveries`)
  t.match(deliveries.data, [{ recipient: 'ann@example.com', state: 'delivered', captured: true }])
  t.equal((await fetch(`${daemon.baseUrl}/v1/openapi.json`)).status, 200)
  t.equal(await daemon.stop(), 0)

  const second = await startLocalDaemon(t, dir)
  t.notMatch(second.printed, key!, 'a later start shows no key')
  t.notMatch(second.printed, /shown this once/)
  t.match(second.printed, /^ {2}sending {2}127\.0\.0\.1:\d+ /m)
  const pasted = second.printed.split('\n').filter(line => /^ {2}export /.test(line))
  const seen = await paste([...pasted, list])
  t.equal(seen.code, 0, seen.stderr)
  t.equal(JSON.parse(seen.stdout).total, 2, 'what a later start prints works as printed')
  const again = await apiOf(second.baseUrl, key).get('/v1/inboxes')
  t.equal(again.status, 200, 'and the first one is still good')
  t.equal(again.body.data.filter((one: { address: string }) => /^hello@/.test(one.address)).length, 1)
  t.equal(await second.stop(), 0)
})

t.test('ports that are taken make it move', async t => {
  for (const port of [2525, 8025]) {
    const server = createServer()
    server.on('error', () => {}) // It is taken already, by whomever.
    await Promise.race([once(server.listen(port, '127.0.0.1'), 'listening'), once(server, 'error')])
    t.teardown(() => server.close())
  }
  const daemon = await startLocalDaemon(t, temporaryDir(t))
  t.ok(daemon.smtpPort > 0 && daemon.smtpPort !== 2525)
  t.not(new URL(daemon.baseUrl).port, '8025')
  t.match(daemon.printed, `smtp://127.0.0.1:${daemon.smtpPort}/`, 'the commands name the other ones')
  t.match(daemon.printed, `export API=${daemon.baseUrl}/v1`)
  t.equal((await fetch(`${daemon.baseUrl}/v1/openapi.json`)).status, 200)
  t.match(daemon.log, /the port is taken( by .+ \(process \d+\))?; another one is used/)
  t.equal(await daemon.stop(), 0)
})

t.test('ports can be chosen, are kept over restarts, and what is printed works anywhere', async t => {
  const dir = temporaryDir(t)
  const first = await startLocalDaemon(t, dir, '--port', '0', '--smtp-port', '0')
  const { smtpPort, baseUrl } = first
  const taken = await runProgram(process.execPath, [
    builtProgram('mailboxd'),
    ...['--data', join(dir, 'other'), '--port', new URL(baseUrl).port],
  ])
  t.equal(taken.code, 1, 'a port that was named is that one or none')
  t.match(taken.stderr, `(process ${first.process.pid})`)
  const after = await startLocalDaemon(t, dir, '--data', 'other', '--port', '0', '--smtp-port', '0')
  t.match(after.printed, /^ {2}inbox +hello@mailboxd\.localhost$/m, 'a start that failed was not the first')
  t.match(after.printed, /^ {2}key +\S+ {2}\(shown this once/m)
  t.equal(await after.stop(), 0)
  const named = await runProgram(process.execPath, [builtProgram('mailboxd')], '', {
    cwd: dir,
    env: { MAILBOXD_CONFIG: '/etc/mailboxd/mailboxd.toml' },
  })
  t.match(named, { code: 2, stderr: /^error: MAILBOXD_CONFIG names a server .* --config \/etc\/mailboxd/ })

  const keys = /^.* (\S+\/mailboxctl --data \S+) key create/m.exec(first.printed)![1]!
  const made = await runProgram('sh', ['-c', `${keys} --json key create`], '', { cwd: '/' })
  t.equal(made.code, 0, made.stderr)
  const api = apiOf(baseUrl, JSON.parse(made.stdout).token)
  const { body } = await api.get('/v1/inboxes')
  await api.patch(`/v1/inboxes/${body.data[0].id}`, { forwardTo: 'ann@example.org', forwardWhen: 'always' })
  const link = await until(
    'the link of the mail that is captured',
    () => /"link":"([^"]+)"/.exec(first.log)?.[1],
  )
  t.ok(link.startsWith(`${baseUrl}/`))
  t.match(await (await fetch(link)).text(), /ann@example\.org/)
  t.equal((await fetch(link, { method: 'POST' })).status, 200)
  t.match(await api.get(`/v1/inboxes/${body.data[0].id}`), { body: { forwardStatus: 'active' } })
  t.equal(await first.stop(), 0)

  const second = await startLocalDaemon(t, dir)
  t.strictSame([second.smtpPort, second.baseUrl], [smtpPort, baseUrl])
  t.equal(await second.stop(), 0)
  const both = await runProgram(process.execPath, [builtProgram('mailboxd'), '--config', 'x', '--port', '1'])
  t.equal(both.code, 2)
  t.match(both.stderr, /are of local mode/)
})
