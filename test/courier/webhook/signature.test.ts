import { createHmac } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { Webhook as SvixWebhook } from 'svix'
import t from 'tap'
import { systemClock } from '../../../lib/base/time.ts'
import { newWebhookSecret, webhookSignatureHeaders } from '../../../lib/courier/webhook/signature.ts'

const body = JSON.stringify({ event: 'message.received', subject: 'Grüße, 日本 🎉', n: 1 })

t.test('a secret is whsec_ and 32 bytes in base64', async t => {
  const secret = newWebhookSecret()
  t.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  t.not(newWebhookSecret(), secret)
})

t.test('the real verifiers accept it, as text and as bytes', async t => {
  const secret = newWebhookSecret()
  for (const sent of [body, Buffer.from(body)]) {
    const headers = webhookSignatureHeaders({ id: 'evt_1', at: systemClock.now(), secret, body: sent })
    t.same(new Webhook(secret).verify(body, headers), JSON.parse(body))
    t.same(new SvixWebhook(secret).verify(body, headers), JSON.parse(body))
  }
})

t.test('the real verifiers refuse another body, id, time or secret', async t => {
  const secret = newWebhookSecret()
  const headers = webhookSignatureHeaders({ id: 'evt_1', at: systemClock.now(), secret, body })
  for (const Verifier of [Webhook, SvixWebhook]) {
    const verifier = new Verifier(secret)
    t.throws(() => verifier.verify(`${body} `, headers))
    t.throws(() => verifier.verify(body, { ...headers, 'webhook-id': 'evt_2' }))
    const later = String(Number(headers['webhook-timestamp']) + 1)
    t.throws(() => verifier.verify(body, { ...headers, 'webhook-timestamp': later }))
    t.throws(() => new Verifier(newWebhookSecret()).verify(body, headers))
  }
})

t.test('the other form signs timestamp.body with the secret as it stands', async t => {
  const at = new Date('2026-11-21T10:00:00.999Z')
  const headers = webhookSignatureHeaders({ id: 'evt_1', at, secret: 'whsec_c2VjcmV0', body })
  t.match(headers, {
    'x-event-id': 'evt_1',
    'x-timestamp': '1795255200',
    'webhook-timestamp': '1795255200',
    'webhook-id': 'evt_1',
  })
  const expected = createHmac('sha256', 'whsec_c2VjcmV0').update(`1795255200.${body}`).digest('hex')
  t.equal(headers['x-signature'], expected)
})
