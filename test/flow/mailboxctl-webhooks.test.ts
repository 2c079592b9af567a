import t from 'tap'
import { callCtl } from '../support/called-ctl.ts'
import { ctlIn, makeLocalInstallation } from '../support/local-daemon.ts'
import { temporaryDir } from '../support/temporary-dir.ts'
import { startWebhookReceiver } from '../support/webhook-receiver.ts'

t.test('webhooks are set, tried, given a new secret and taken away; events are told again', async t => {
  const dir = temporaryDir(t)
  await makeLocalInstallation(t, dir)
  const ctl = ctlIn(dir)
  const inbox = await ctl('inbox create', '--mailbox-name', 'ann')
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
  const unasked = await callCtl(dir, 'webhook', 'rotate-secret', '--inbox', inbox.id)
  t.match(unasked, { code: 1, stderr: /^Of http:\S+, 0 calls that are to be made yet.*say --yes/ })
  const [rotated, listed, told] = await Promise.all([
    ctl('webhook rotate-secret', '--inbox', inbox.id, '--yes'),
    ctl('event list', '--inbox', inbox.id, '--limit', '1'),
    ctl('event deliveries', event),
  ])
  t.match(rotated, { url: receiver.url, secret: /^whsec_/ })
  t.not(rotated.secret, set.secret)
  t.match(listed, { data: [{ event_id: event, event: 'webhook.test', inbox_id: inbox.id }] })
  t.match(told, { data: [{ state: 'delivered', log: [{ status: 200 }] }] })
  const { deliveryId } = await ctl('event redeliver', event)
  const [again, failed, waiting] = await Promise.all([
    ctl('event deliveries', event),
    ctl('event redeliver', '--failed', '--since', '2026-01-01T00:00:00Z'),
    callCtl(dir, 'webhook', 'rotate-secret', '--inbox', inbox.id),
  ])
  t.match(again, { data: [{}, { id: deliveryId, state: 'queued' }] })
  t.strictSame(failed, { queued: 0 })
  t.match(
    waiting,
    { code: 1, stderr: /^Of http:\S+, 1 calls that are to be made yet/ },
    'the one that is queued',
  )
  const deleted = await Promise.all([
    ctl('webhook delete', '--inbox', inbox.id, '--yes'),
    ctl('webhook delete', '--yes'),
  ])
  t.strictSame(deleted, [{ deleted: inbox.id }, { deleted: 'account' }])
  const wrong = [
    ['webhook', 'set', 'ftp://x'],
    ['event', 'list', '--type', 'webhook.tset'],
    ['event', 'tail', '--type', 'webhook.tset'],
    ['event', 'redeliver'],
    ['event', 'redeliver', event, '--failed'],
    ['event', 'redeliver', '--failed', '--since', 'yesterday'],
  ]
  const refusals = await Promise.all(wrong.map(args => callCtl(dir, ...args)))
  t.strictSame(
    refusals.map(one => one.code),
    [1, 2, 2, 2, 2, 2],
  )
})
