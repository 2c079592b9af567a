import t from 'tap'
import { createWebhookStanding, webhookFailures, webhooksFailing } from '../../../lib/core/webhooks/lanes.ts'

t.test('a webhook is failing after three failures in a row, until one success', async t => {
  const standing = createWebhookStanding()
  for (const isDelivered of [false, false, true, false, false]) standing.note('a', isDelivered)
  t.notOk(standing.isFailing('a'))
  t.equal(standing.note('a', false), webhookFailures)
  t.ok(standing.isFailing('a'))
  t.notOk(standing.isFailing('b'))
  t.equal(standing.note('a', true), webhookFailures, 'how many failed before it')
  t.equal(standing.note('a', true), 0)
  t.notOk(standing.isFailing('a'))
})

t.test('only so many are remembered, those that failed last', async t => {
  const standing = createWebhookStanding()
  const fail = (url: string) => {
    for (let n = 0; n < webhookFailures; n++) standing.note(url, false)
  }
  fail('first')
  fail('second')
  for (let n = 0; n < webhooksFailing - 2; n++) standing.note(`${n}`, false)
  standing.note('first', false)
  standing.note('one more', false)
  t.ok(standing.isFailing('first'))
  t.notOk(standing.isFailing('second'))
})
