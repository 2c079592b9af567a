import t from 'tap'
import { apiOf } from '../support/api.ts'
import { ctlIn, startLocalDaemon } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { until } from '../support/until.ts'

t.test('every question is answered in JSON, the same with the daemon up and down', async t => {
  const dir = temporaryDir(t)
  const daemon = await startLocalDaemon(t, dir)
  const ctl = ctlIn(dir)
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
    ['queue holds'],
    ['webhook show'],
    ['event list'],
    ['verify'],
    ['feedback list'],
    ['tls list'],
    ['config print'],
    ['config describe'],
    ['config describe', 'smtp.max_size'],
  ]
  await t.rejects(ctl('config check'), /ended with 78: .*so nothing was checked/, 'local mode has none')
  const whileUp = []
  for (let at = 0; at < questions.length; at += 3) {
    const some = questions.slice(at, at + 3)
    whileUp.push(...(await Promise.all(some.map(question => ctl(...question)))))
  }
  t.match(await ctl('status'), {
    daemon: { state: 'up', since: String },
    doors: { smtp: [`127.0.0.1:${daemon.smtpPort}`] },
    pods: 2,
    inboxes: 2,
    queue: { all: 0 },
    deliveryMode: 'capture',
    certificate: { source: 'self-signed' },
  })
  const [node] = (await ctl('node list')).data
  t.match(node, { state: 'up', blobs: 'disk', leasedUntil: null })
  const health = async () => (await fetch(`${daemon.baseUrl}/health`)).status
  await ctl('node drain', node.id)
  await until('it to drain', async () => (await health()) === 503)
  t.match((await ctl('node list')).data, [{ state: 'draining' }])
  t.match(await ctl('status'), { draining: [node.id] })
  await ctl('node resume', node.id)
  await until('it to go on', async () => (await health()) === 200)
  t.equal(await daemon.stop(), 0)
  t.match((await ctl('node list')).data, [{ state: 'stopped' }])
  t.match(await ctl('status'), {
    daemon: { state: 'down', since: String, endedWithoutWord: false },
    doors: { smtp: [], http: [] },
  })
  for (const [index, [command, ...args]] of questions.slice(0, 3).entries()) {
    t.strictSame(await ctl(command, ...args), whileUp[index], command)
  }
  t.match(await ctl('compact'), { before: Number, after: Number })
})
