import t from 'tap'
import { spoken } from '../../lib/cli/operations/spoken.ts'
import { apiOf } from '../support/api.ts'
import { runCtl, startLocalDaemon } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

/** The commands that a shell completes to their end, in order. */
function commandsIn(script: string): string[] {
  const paths = [...script.matchAll(/^ {4}'(.+)'\) echo /gm)].map(([, path]) => path!)
  return paths.filter(path => !paths.some(other => other.startsWith(`${path} `))).sort()
}

t.test('every command answers in JSON, the same with the daemon up and down', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const tried = new Set<string>()
  const ctl = async (command: string, ...args: string[]) => {
    tried.add(command)
    const { code, stdout, stderr } = await runCtl(dir, '--json', ...command.split(' '), ...args)
    if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`)
    return JSON.parse(stdout)
  }

  const pod = await ctl('pod create', '--name', 'First', '--client-id', 'first')
  const [inbox, key] = await Promise.all([
    ctl('inbox create', '--mailbox-name', 'ann', '--display-name', 'Ann', '--pod', 'first'),
    ctl('key create', '--name', 'a key', '--pod', 'first'),
  ])
  t.match(pod, { id: String, name: 'First', clientId: 'first' })
  t.match(inbox, { id: String, address: 'ann@mailboxd.localhost', podId: pod.id })
  t.match(key, { id: String, token: String, podId: pod.id })
  const seen = await apiOf(daemon.baseUrl, key.token).get('/v1/inboxes')
  t.strictSame(
    seen.body.data.map((one: { id: string }) => one.id),
    [inbox.id],
    'the daemon knows at once',
  )

  const questions: [command: string, ...args: string[]][] = [
    ['key list'],
    ['inbox list', '--pod', pod.id],
    ['domain records'],
    ['domain list'],
    ['domain show'],
    ['suppression list'],
    ['queue list'],
    ['queue list', '--domain', 'example.org', '--older-than', '1h', '--state', 'held', '--pod', pod.id],
    ['queue flush'],
    ['queue retry', '--domain', 'example.org'],
    ['queue hold', '--inbox', inbox.id, '--yes'],
    ['queue holds'],
    ['queue release', '--state', 'held', '--yes'],
    ['queue cancel', '--older-than', '1d'],
    ['webhook show'],
    ['event list'],
    ['verify'],
    ['feedback list'],
    ['tls list'],
    ['config check'],
    ['config print'],
    ['config describe'],
  ]
  const askAll = async () => {
    const answers: unknown[] = []
    for (let at = 0; at < questions.length; at += 3) {
      const some = questions.slice(at, at + 3)
      answers.push(...(await Promise.all(some.map(question => ctl(...question)))))
    }
    return answers
  }
  const whileUp = await askAll()
  t.match(await ctl('status'), {
    daemon: { state: 'up', since: String },
    doors: { smtp: [`127.0.0.1:${daemon.smtpPort}`] },
    pods: 2,
    inboxes: 2,
    queue: { all: 0 },
    deliveryMode: 'capture',
    certificate: { source: 'self-signed' },
  })
  t.equal(await daemon.stop(), 0)
  t.match(await ctl('status'), { daemon: { state: 'down', since: String }, doors: { smtp: [], http: [] } })
  for (const [index, [command, ...args]] of questions.slice(0, 3).entries()) {
    t.strictSame(await ctl(command, ...args), whileUp[index], command)
  }

  t.match(await runCtl(dir, 'secrets', 'rotate'), { stderr: /keep the old one.*say --yes/ })
  t.type(await ctl('secrets rotate', '--yes'), Object)
  t.match(await ctl('message purge', '--older-than', '1h'), { matched: 0, deleted: null })
  const spam = ['--inbox', inbox.id, '--pod', inbox.podId, '--category', 'spam']
  t.match(await ctl('message purge', '--older-than', '30d', ...spam, '--yes'), { deleted: 0 })
  t.match(await ctl('compact'), { before: Number, after: Number })
  tried.add('queue why')
  tried.add('queue show')
  t.match(await runCtl(dir, 'queue', 'why', inbox.id), { code: 1, stderr: /\w/ }, 'there is no such entry')
  t.match(await ctl('domain add', 'custom.example.org'), { domain: 'custom.example.org', status: String })
  t.match(await ctl('domain rotate-key', 'custom.example.org'), {
    data: [{ purpose: 'dkim-next' }, { purpose: 'dkim-next' }],
  })
  t.match(await ctl('domain hold', 'custom.example.org'), { status: 'under_review' })
  t.match(await ctl('domain approve', 'custom.example.org'), { status: /pending|verifying/ })
  tried.add('domain check')
  const check = await runCtl(dir, '--json', 'domain', 'check', 'custom.example.org')
  t.equal(check.code, 1, 'not verified')
  t.match(JSON.parse(check.stdout), { domain: 'custom.example.org', records: Array })
  const unasked = await runCtl(dir, 'domain', 'delete', 'custom.example.org')
  t.match(unasked, { stderr: /DKIM keys are gone.*say --yes/ })
  t.not(unasked.code, 0)
  await ctl('domain delete', 'custom.example.org', '--yes')

  t.match(await ctl('suppression add', 'gone@example.org'), { recipient: 'gone@example.org' })
  await ctl('suppression remove', 'gone@example.org')
  const receiver = await startWebhookReceiver(t)
  const [set, setAll] = await Promise.all([
    ctl('webhook set', receiver.url, '--inbox', 'ann@mailboxd.localhost'),
    ctl('webhook set', receiver.url),
  ])
  t.match(set, { url: receiver.url, secret: /^whsec_/ })
  t.match(setAll, { url: receiver.url, secret: /^whsec_/ })
  const tests = await Promise.all([ctl('webhook test', '--inbox', inbox.id), ctl('webhook test')])
  t.match(tests, [{ ok: true, message: /200/ }, { ok: true }])
  const tested = receiver.calls.map(call => call.json)
  t.ok(tested.every(call => call.event === 'webhook.test'))
  t.strictSame(new Set(tested.map(call => call.inbox_id)), new Set([inbox.id, null]))
  const event: string = tested.find(call => call.inbox_id === inbox.id).event_id
  const [rotated, listed, told] = await Promise.all([
    ctl('webhook rotate-secret', '--inbox', inbox.id),
    ctl('event list', '--inbox', inbox.id, '--limit', '1'),
    ctl('event deliveries', event),
  ])
  t.match(rotated, { url: receiver.url, secret: /^whsec_/ })
  t.not(rotated.secret, set.secret)
  t.match(listed, { data: [{ event_id: event, event: 'webhook.test', inbox_id: inbox.id }] })
  t.match(told, { data: [{ state: 'delivered', log: [{ status: 200 }] }] })
  const { deliveryId } = await ctl('event redeliver', event)
  const [again, failed] = await Promise.all([
    ctl('event deliveries', event),
    ctl('event redeliver', '--failed', '--since', '2026-01-01T00:00:00Z'),
  ])
  t.match(again, { data: [{}, { id: deliveryId, state: 'queued' }] })
  t.strictSame(failed, { queued: 0 })
  const deleted = await Promise.all([
    ctl('webhook delete', '--inbox', inbox.id, '--yes'),
    ctl('webhook delete', '--yes'),
  ])
  t.strictSame(deleted, [{ deleted: inbox.id }, { deleted: 'account' }])
  const wrong = [
    ['webhook', 'set', 'ftp://x'],
    ['event', 'redeliver'],
    ['event', 'redeliver', event, '--failed'],
    ['event', 'redeliver', '--failed', '--since', 'yesterday'],
  ]
  const refusals = await Promise.all(wrong.map(args => runCtl(dir, ...args)))
  t.strictSame(
    refusals.map(one => one.code),
    [1, 2, 2, 2],
  )

  t.match(await ctl('pod update', 'first', '--name', 'Changed'), { name: 'Changed', clientId: 'first' })
  t.match(await ctl('inbox suspend', 'ann@mailboxd.localhost', '--reason', 'complaints'), {
    id: inbox.id,
    suspendedAt: String,
    suspendedReason: 'complaints',
  })
  t.match(await ctl('inbox resume', inbox.id), { address: inbox.address, suspendedAt: null })
  t.match(await ctl('inbox delete', 'ann@mailboxd.localhost', '--yes'), { deleted: 'ann@mailboxd.localhost' })
  t.match(await runCtl(dir, 'key', 'revoke', key.id), { code: 1, stderr: /never given back.*say --yes/ })
  t.match(await ctl('key revoke', key.id, '--yes'), { revoked: key.id })
  t.match(await ctl('pod delete', 'first', '--yes'), { deleted: 'first' })
  const refused = await runCtl(dir, '--json', 'pod', 'get', 'first')
  t.equal(refused.code, 1)
  t.match(JSON.parse(refused.stderr), { error: 'not_found', message: String })
  t.equal(refused.stdout, '')

  // Of these there are stories of their own (backup, setup, dns-check, and test/cli).
  const elsewhere = [
    'backup',
    'restore',
    'event tail',
    'completion',
    'setup',
    'dns check',
    'doctor',
    'message log',
  ]
  for (const command of [...elsewhere, ...Object.values(spoken).map(one => one.words)]) tried.add(command)

  t.strictSame(
    [...tried].sort(),
    commandsIn((await runCtl(dir, 'completion', 'bash')).stdout),
    'none was left out',
  )
})
