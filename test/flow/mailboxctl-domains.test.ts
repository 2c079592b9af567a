import t from 'tap'
import { callCtl } from '../support/called-ctl.ts'
import { ctlIn, makeLocalInstallation } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

t.test('domains are added, checked, held, approved and deleted', async t => {
  const dir = temporaryDir(t)
  await makeLocalInstallation(t, dir)
  const ctl = ctlIn(dir)
  t.match(await ctl('domain add', 'custom.example.org'), { domain: 'custom.example.org', status: String })
  t.match(await ctl('domain rotate-key', 'custom.example.org'), {
    data: [{ purpose: 'dkim-next' }, { purpose: 'dkim-next' }],
  })
  t.match(await ctl('domain hold', 'custom.example.org'), { status: 'under_review' })
  t.match(await ctl('domain approve', 'custom.example.org'), { status: /pending|verifying/ })
  const check = await callCtl(dir, '--json', ...'domain check'.split(' '), 'custom.example.org')
  t.equal(check.code, 1, 'not verified')
  t.match(JSON.parse(check.stdout), { domain: 'custom.example.org', records: Array })
  const unasked = await callCtl(dir, 'domain', 'delete', 'custom.example.org')
  t.match(unasked, { stderr: /DKIM keys are gone.*say --yes/ })
  t.not(unasked.code, 0)
  await ctl('domain delete', 'custom.example.org', '--yes')
})

t.test('the queue is held, released and cancelled by what options say', async t => {
  const dir = temporaryDir(t)
  await makeLocalInstallation(t, dir)
  const ctl = ctlIn(dir)
  const inbox = await ctl('inbox create', '--mailbox-name', 'ann')
  t.match(await ctl('queue flush'), { changed: 0, note: /^nothing is sent until mailboxd runs/ })
  t.match(
    (await callCtl(dir, 'queue', 'flush')).stdout,
    /^0 deliveries are due now: no queued delivery matches; nothing is sent until/,
  )
  for (const [args, help] of [
    [['queue', 'list', '--nonsense'], '(mailboxctl queue list --help says what it takes)'],
    [['queue', 'lst'], '(mailboxctl queue --help lists its commands)'],
    [['inbox', 'get'], '(mailboxctl inbox get --help says what it takes)'],
    [['quue'], '(mailboxctl --help lists the commands)'],
  ] as const) {
    const wrong = await callCtl(dir, ...args)
    t.match(wrong, { code: 2, stdout: '' })
    t.ok(wrong.stderr.includes(help), wrong.stderr)
  }
  t.match(await ctl('queue retry', '--domain', 'example.org'), { matched: 0, changed: null })
  t.match(await ctl('queue hold', '--inbox', inbox.id, '--yes'), { matched: 0 })
  t.match(await ctl('queue holds'), { data: [{ inboxId: inbox.id }] })
  t.match(await ctl('queue release', '--inbox', inbox.id, '--yes'), { matched: 0 })
  t.strictSame(await ctl('queue holds'), { data: [] })
  t.match(await ctl('queue cancel', '--older-than', '1d'), { matched: 0, changed: null })
  await ctl('message send', inbox.id, '--to', 'x@example.net', '--subject', 's', '--body', 'b')
  const unsure = await callCtl(dir, 'queue', 'retry', '--inbox', inbox.id)
  t.match(unsure, {
    code: 1,
    stdout: /^nothing was done: 1 delivery is meant; say --yes to retry what is\n$/,
  })
  const sure = await callCtl(dir, 'queue', 'retry', '--inbox', inbox.id, '--yes')
  t.match(sure, { code: 0, stdout: /^retry: 1 of 1 delivery\n$/ })
  const handled = async (...args: string[]) => (await callCtl(dir, 'queue', ...args)).stdout
  t.equal(
    await handled('hold', '--inbox', inbox.id, '--yes'),
    'hold: 1 of 1 delivery, and all that comes new (mailboxctl queue holds)\n',
  )
  t.equal(await handled('hold', '--inbox', inbox.id, '--yes'), 'hold: 0 of 1 delivery\n', 'again')
  const { data } = await ctl('queue list')
  const id = data[0].deliveryId
  t.match(await callCtl(dir, 'queue', 'retry', id), {
    code: 1,
    stdout: `retry: 0 of 1 delivery; 1 is held: mailboxctl queue release ${id}\n`,
  })
  t.match(await handled('flush'), /^0 deliveries are due now: 1 is held \(mailboxctl queue release\)/)
  t.equal(
    await handled('release', '--inbox', inbox.id, '--yes'),
    'release: 1 of 1 delivery, and what comes new is held no more\n',
  )
  t.match((await callCtl(dir, 'queue', 'flush')).stdout, /^1 delivery is due now; /)
  for (const words of ['queue why', 'queue show']) {
    t.match(
      await callCtl(dir, ...words.split(' '), inbox.id),
      { code: 1, stderr: /\w/ },
      'there is no such entry',
    )
  }
})
