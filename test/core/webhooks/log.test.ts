import t from 'tap'
import { redeliverFailed } from '../../../lib/core/webhooks/log.ts'
import { sweepRows } from '../../../lib/store/sweeps.ts'
import { startWebhookApp } from '../../support/webhook-app.ts'
import { startWebhookReceiver } from '../../support/webhook-receiver.ts'

t.test('what failed is told again, some at a time, and only once', async t => {
  let status = 410
  const receiver = await startWebhookReceiver(t, () => ({ status }))
  const { app, inbox, record, tellDue, clock, log, api } = await startWebhookApp(t)
  const [{ id }, other] = [await inbox(receiver.url), await inbox(receiver.url)]
  const total = sweepRows + 5
  const events: string[] = []
  for (let n = 0; n < total; n++) events.push(await record(id))
  const lost = await record(other.id)
  await tellDue()
  t.equal(receiver.calls.length, total + 1)
  await api.patch(`/v1/inboxes/${other.id}`, { webhookUrl: null })
  const since = clock.now().toISOString()
  clock.advance(1000)
  const late = await record(id)
  await tellDue()
  t.match(await log(late), [{ state: 'failed' }])

  status = 200
  const again = async (from: string) => {
    const counts: number[] = []
    let some = await redeliverFailed(app, { after: '', since: from })
    while (some) {
      counts.push(some.count)
      some = await redeliverFailed(app, { after: some.last, since: from })
    }
    return counts
  }
  t.strictSame(await again(since), [1])
  t.strictSame(await again(''), [sweepRows, 5], 'those without a webhook stay as they are')
  t.strictSame(await again(''), [0])
  receiver.calls.length = 0
  await tellDue()
  t.strictSame(receiver.ids().sort(), [...events, late].sort())
  t.match(await log(lost), [{ state: 'failed', attempts: 1 }])
})
