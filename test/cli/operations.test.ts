import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { tableOf } from '../../lib/cli/output.ts'
import { builtProgram } from '../support/built.ts'
import { callCtl } from '../support/called-ctl.ts'
import { ctlIn, runCtl, startLocalDaemon } from '../support/local-daemon.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

/** Operations that are no command, and why. */
const unspoken: Readonly<Record<string, string>> = {
  createInboxApiKey: 'key create --inbox',
  listInboxApiKeys: 'key list',
  revokeInboxApiKey: 'key revoke',
  createPodApiKey: 'key create --pod',
  listPodApiKeys: 'key list',
  revokePodApiKey: 'key revoke',
  createDomain: 'domain add',
  listDomains: 'domain list',
  getDomain: 'domain show',
  verifyDomain: 'domain check',
  updateDomain: 'domain hold, domain approve',
  deleteDomain: 'domain delete',
  redeliverEvent: 'event redeliver',
  streamEvents: 'event tail',
  openWebSocket: 'event tail',
  createFeedback: 'feedback is for the operator, who reads it: feedback list',
  getHealth: 'status',
  listQueue: 'queue list',
  explainQueued: 'queue why',
  retryQueued: 'queue retry',
  holdQueued: 'queue hold',
  releaseQueued: 'queue release',
  cancelQueued: 'queue cancel',
  listQueueHolds: 'queue holds',
  listSuppressions: 'suppression list',
  createSuppression: 'suppression add',
  deleteSuppression: 'suppression remove',
  rotateInboxWebhookSecret: 'webhook rotate-secret --inbox',
  testInboxWebhook: 'webhook test --inbox',
  getWebhook: 'webhook show',
  setWebhook: 'webhook set',
  deleteWebhook: 'webhook delete',
  rotateWebhookSecret: 'webhook rotate-secret',
  downloadAttachment: 'its URL is signed for browsers: message attachment',
  getOpenApi: 'it is the same for clients of the API alone',
}

t.test('every operation is a command, or has a reason not to be', async t => {
  const ids = operations.map(one => one.id)
  t.strictSame([...Object.keys(spoken), ...Object.keys(unspoken)].sort(), ids.toSorted(), 'each once')
  const words = Object.values(spoken).map(one => one.words)
  t.equal(new Set(words).size, words.length, 'and none of them twice')
})

t.test('a table fits 100 columns, with ids and instants whole', async t => {
  const row = {
    id: '01a201a9-d6ee-754b-8d4f-8b7cf7aa2c7c',
    fromAddr: `${'a'.repeat(60)}@example.com`,
    subject: 'many words\n'.repeat(20),
    createdAt: '2026-11-22T05:10:34.225Z',
  }
  const lines = tableOf(
    [row, { ...row, subject: 'few' }],
    ['id', 'fromAddr', 'subject', 'createdAt'],
    100,
  ).split('\n')
  t.equal(lines.length, 3)
  for (const line of lines.slice(1)) {
    t.ok(line.length <= 100, line)
    t.match(line, row.id)
    t.match(line, '2026-11-22 05:10Z')
  }
})

t.test('an operator reads, sends, answers, and is asked before harm', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const ask = async (...args: string[]) => {
    const { code, stdout, stderr } = await callCtl(dir, '--json', ...args)
    t.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout === '' ? undefined : JSON.parse(stdout)
  }
  const ann = 'ann@mailboxd.localhost'
  t.match(await ask('inbox', 'create', ann), { address: ann }, 'an address is a name and a domain')
  t.match(await callCtl(dir, 'status'), { stdout: /^doors +smtp 127\S+, submission 127\S+, http 127\S+$/m })
  t.match(await callCtl(dir, 'policy', 'get'), { stdout: /^inbound: mode none, no rules$/m })
  await ask('inbox', 'create', '--mailbox-name', 'bea')
  const name = `the support desk${' of everybody'.repeat(8)}`
  await ask('inbox', 'create', '--mailbox-name', 'c'.repeat(30), '--display-name', name)
  const inboxes = await callCtl(dir, 'inbox', 'list')
  t.match(inboxes.stdout, `${'c'.repeat(30)}@mailboxd.localhost  ${name}  `, 'a pipe gets all of it')
  writeFileSync(join(dir, 'fish.txt'), 'Seventy-two')
  const args = ['message', 'send', 'bea@mailboxd.localhost', '--to', ann, '--subject', 'The fish']
  const sending = [builtProgram('mailboxctl'), ...args, '--body', '-', '--attachment', 'fish.txt']
  const sent = await runProgram(process.execPath, sending, 'How much is it?', { cwd: dir })
  t.match(sent, { code: 0, stdout: /status +pending/ })
  const message = await until('the mail', async () => (await ask('message', 'list', ann)).data[0])
  t.match(message, { subject: 'The fish', fromAddr: 'bea@mailboxd.localhost' })
  t.match(await callCtl(dir, 'message', 'get', message.id), { code: 0, stdout: /\n\nHow much is it\?/ })
  t.match(await callCtl(dir, 'message', 'raw', message.id), { code: 0, stdout: /^Subject: The fish\r$/m })
  const attachment = await callCtl(dir, 'message', 'attachment', message.id, 'fish.txt')
  t.equal(attachment.stdout, 'Seventy-two')
  const kept = await ask(
    ...['draft', 'create', 'bea@mailboxd.localhost', '--to', ann, '--to', 'Zoe <zoe@example.net>'],
    ...['--subject', 'Draft', '--body', 'hi', '--send-at', '2100-01-01T00:00:00Z'],
  )
  t.match(kept, { to: [ann, 'Zoe <zoe@example.net>'], subject: 'Draft', status: 'scheduled' })
  const cleared = await ask('draft', 'update', kept.id, '--to', '', '--subject', '', '--send-at', '')
  t.match(cleared, { to: [], subject: null, status: 'open' })
  await ask('message', 'reply', message.id, '--body', 'Cheap')
  const reply = await until('the answer', async () => {
    const { data } = await ask('message', 'list', 'bea@mailboxd.localhost', '--direction', 'inbound')
    return data[0]
  })
  t.match(reply, { subject: 'Re: The fish', threadId: String })
  t.match(await ask('thread', 'update', reply.threadId, '--is-read'), { ok: true })
  const [first] = (await ask('event', 'list', '--inbox', ann)).data
  const following = ['--json', 'event', 'tail', '--inbox', ann, '--after', first.event_id]
  const tail = spawn(process.execPath, [builtProgram('mailboxctl'), ...following], {
    cwd: dir,
    stdio: 'pipe',
  })
  t.teardown(() => tail.kill('SIGKILL'))
  let told = ''
  tail.stdout.setEncoding('utf8').on('data', text => {
    told += text
  })
  await until('the events', () => told.includes('message.sent'))
  const ended = once(tail, 'exit')
  tail.kill('SIGINT')
  await ended
  for (const line of told.trim().split('\n')) t.match(JSON.parse(line), { inbox_address: ann })

  const refusals: [code: number, says: RegExp, ...args: string[]][] = [
    [1, /^--limit must be a whole number of at least 0/, 'message', 'list', ann, '--limit=-1'],
    [2, /Did you mean list\?/, 'message', 'lst', ann],
    [2, /Did you mean --subject\?/, 'message', 'send', ann, '--subjct', 'x', '--body', 'x'],
    [1, /burnt.*--yes/, 'inbox', 'delete', ann],
    [2, /argument 'no' is invalid\. It is true or false/, 'thread', 'update', ann, '--is-read', 'no'],
    [2, /argument '' is invalid\. It is true or false/, 'thread', 'update', ann, '--is-read', ''],
    [
      1,
      /^--to \(number 2\) must be one email address/,
      ...['message', 'send', ann, '--to', 'x@example.net', '--to', 'y', '--subject', 's', '--body', 'b'],
    ],
    [1, /^<address> must be a bare email address/, 'member', 'add', 'zoe'],
    [1, /^mailboxd runs: stop it/, 'secrets', 'rotate'],
    [1, /^--after must be the id of an event/, 'event', 'tail', '--after', 'x'],
    [1, /^<address> must be a bare email address/, 'suppression', 'add', 'zoe'],
    [1, /^--expires-at must be an instant/, 'suppression', 'add', 'z@example.net', '--expires-at', 'soon'],
    [1, /the account's own domain, which stays/, 'domain', 'delete', 'mailboxd.localhost', '--yes'],
    [
      2,
      /give the address or --domain, one of them/,
      'inbox',
      'create',
      'a.b@c.example',
      '--domain',
      'd.example',
    ],
  ]
  await Promise.all(
    refusals.map(async ([code, says, ...args]) =>
      t.match(await callCtl(dir, ...args), { code, stderr: says }, args.join(' ')),
    ),
  )
  t.equal(await daemon.stop(), 0)
  t.match(await ask('inbox', 'delete', ann, '--yes'), { deleted: ann })
})

t.test('the same commands complete in a shell', async t => {
  const script = await runCtl(temporaryDir(t), 'completion', 'bash')
  const complete = async (...words: string[]) => {
    const typed = `COMP_WORDS=(mailboxctl ${words.join(' ')}); COMP_CWORD=${words.length}; _mailboxctl; echo "\${COMPREPLY[@]}"`
    return (await runProgram('bash', ['-c', `${script.stdout}\n${typed}`])).stdout.trim()
  }
  t.strictSame((await complete('message', 'se')).split(' ').sort(), ['search', 'send'])
  t.equal(await complete('--json', 'inbox', 'create', '--mail'), '--mailbox-name')
})

t.test('what is sent while mailboxd does not run is told to wait for it', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const bea = 'bea@mailboxd.localhost'
  const send = (...more: string[]) =>
    callCtl(dir, ...more, 'message', 'send', bea, '--to', 'x@example.com', '--subject', 's', '--body', 'b')
  await callCtl(dir, 'inbox', 'create', '--mailbox-name', 'bea')
  t.notMatch(await send(), { stdout: /note/ }, 'while it runs there is nothing to say')
  t.equal(await daemon.stop(), 0)
  const note = /queued: nothing is sent until mailboxd runs/
  const told = await send()
  t.match(told, { code: 0, stdout: /^note +queued: nothing is sent until mailboxd runs/m })
  const inJson = JSON.parse((await send('--json')).stdout)
  t.match(inJson, { status: 'pending', note })
  const reply = await callCtl(dir, '--json', 'message', 'reply', inJson.messageId, '--body', 'b')
  t.match(JSON.parse(reply.stdout), { status: 'pending', note })
  const ctl = ctlIn(dir)
  const { id } = await ctl('draft create', bea, '--to', 'x@example.com', '--subject', 's', '--body', 'b')
  t.match(await ctl('draft send', id), { status: 'pending', note })
})
