import t from 'tap'
import { createDistantMeter, type Noted } from '../../lib/base/metrics.ts'
import { createMetrics } from '../../lib/metrics/registry.ts'
import { until } from '../support/until.ts'

t.test('a metric has so many series and no more, and its labels are words', async t => {
  const metrics = createMetrics(3)
  for (let code = 400; code < 500; code++) metrics.count('smtp_refusals_total', String(code), '')
  metrics.count('smtp_refusals_total', '250', 'x"\n\u001b[31m')
  const lines = (await metrics.text()).split('\n').filter(line => /^mailboxd_smtp_refusals_total/.test(line))
  t.equal(lines.length, 4)
  t.ok(lines.includes('mailboxd_smtp_refusals_total{code="other",enhanced="other"} 99'), lines.join('\n'))
})

t.test('what a thread counts comes over together, and comes to the same', async t => {
  const posted: (readonly Noted[])[] = []
  const meter = createDistantMeter(noted => void posted.push(structuredClone(noted)))
  for (let number = 0; number < 1000; number++) meter.count('messages_received_total', 'clean', 'personal')
  meter.observe('message_received_bytes', 5000)
  meter.observe('message_received_bytes', 70_000)
  await until('it is over', () => posted.length > 0)
  t.equal(posted.length, 1)
  t.equal(posted[0]!.length, 3)
  const metrics = createMetrics()
  metrics.add(posted[0]!)
  const text = await metrics.text()
  for (const line of [
    'messages_received_total{verdict="clean",category="personal"} 1000',
    'message_received_bytes_bucket{le="4096"} 0',
    'message_received_bytes_bucket{le="16384"} 1',
    'message_received_bytes_bucket{le="262144"} 2',
    'message_received_bytes_sum 75000',
  ]) {
    t.ok(text.includes(`mailboxd_${line}\n`), line)
  }
})

t.test('a thread that counts much in a moment keeps little of it', async t => {
  let posts = 0
  let most = 0
  const meter = createDistantMeter(noted => {
    posts++
    most = Math.max(most, noted.length)
  })
  for (let number = 0; number < 10_000; number++) meter.observe('message_received_bytes', number)
  t.equal(posts, 5)
  t.equal(most, 2000)
})
