import { createHmac, randomBytes } from 'node:crypto'

export interface WebhookSigning {
  /** The event's id, the same in every attempt. */
  readonly id: string
  /** When this attempt is made. */
  readonly at: Date
  /** `whsec_` and the key in base64. */
  readonly secret: string
  /** The very bytes, or the text, that are sent. */
  readonly body: string | Uint8Array
}

const prefix = 'whsec_'

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64')
}

/**
 * The headers that prove a call, in both forms. Standard Webhooks 1.0 signs `id.timestamp.body` with the decoded key;
 * the `X-` form signs `timestamp.body` with the text of the secret as it stands. Timestamps are in Unix seconds.
 */
export function webhookSignatureHeaders({ id, at, secret, body }: WebhookSigning): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const key = Buffer.from(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, 'base64')
  const standard = createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')
  const plain = createHmac('sha256', secret).update(`${timestamp}.`).update(body).digest('hex')
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${standard}`,
    'x-event-id': id,
    'x-timestamp': timestamp,
    'x-signature': plain,
  }
}
