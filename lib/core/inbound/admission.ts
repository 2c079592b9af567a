import { normaliseAddress } from '../../mail/address/address.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { App, Reads } from '../app/app.ts'
import { systemAddress } from '../domains/usable.ts'
import { findRefusals, type Refusal, recordRefusal } from '../policy/check.ts'
import type { Recipient } from './recipient.ts'

/** Whose sender rules let a message in, and whose do not. */
export interface Admission {
  readonly admitted: readonly Recipient[]
  readonly refused: readonly Refused[]
}

/** A recipient whose sender rules do not let a message in. */
export interface Refused {
  readonly recipient: Recipient
  readonly refusal: Refusal
}

/** Who sent a message, as it says itself. */
export interface Sender {
  /** Each mailbox that From names, in whatever reading: `namedAuthors`. */
  readonly named: readonly string[]
  /** The one mailbox in From that was judged; null when it is not sure whom From names, and no allow rule lets it in. */
  readonly judged: string | null
  readonly mailFrom: string
  /** Whether the From domain is proven by DMARC, or by an aligned SPF or DKIM. */
  readonly isAligned: boolean
}

/**
 * Asks the sender rules of each recipient's inbox. A rule that allows looks at the mailbox that was judged alone; one that
 * blocks at each that From names.
 */
export async function admit(
  app: Reads,
  recipients: readonly Recipient[],
  sender: Sender,
): Promise<Admission> {
  const allowable = normaliseAddress(sender.judged ?? '') ?? null
  const addresses = [...sender.named, sender.mailFrom].flatMap(one => normaliseAddress(one) ?? [])
  const refusals = await findRefusals(
    app.store.read,
    recipients.map(({ inboxId, podId }) => ({ id: inboxId, podId })),
    'inbound',
    [
      {
        addresses,
        allowable,
        isProven: sender.isAligned || !app.config.policy.require_authenticated_sender,
      },
    ],
  )
  const refused = recipients.flatMap(recipient => {
    const refusal = refusals.get(recipient.inboxId)
    if (!refusal) return []
    // RFC 5321 §4.5.1: postmaster is reached by whoever is not blocked expressly.
    return refusal.reason !== 'blocked' && recipient.address === systemAddress(app)
      ? []
      : [{ recipient, refusal }]
  })
  const out = new Set(refused.map(({ recipient }) => recipient))
  return { admitted: recipients.filter(recipient => !out.has(recipient)), refused }
}

/** Writes what was refused into the audit. */
export async function recordRefused(app: App, db: WriteDb, refused: readonly Refused[]): Promise<void> {
  for (const { recipient, refusal } of refused) {
    const scope = { podId: recipient.podId, inboxId: recipient.inboxId }
    await recordRefusal(app, db, scope, 'inbound', refusal, null)
  }
}
