import type { Content } from '../../blob/content.ts'
import type { Authentication } from '../../model/message.ts'
import type { Reading } from '../../reading/reading.ts'
import type { Refused } from './admission.ts'
import type { Recipient } from './recipient.ts'
import type { Returned } from './returned.ts'
import type { Judged } from './verdict.ts'

/** A message at the door: who brought it, for whom, and its bytes. */
export interface Arrival {
  /** The session and transaction, to follow the message through the log. */
  readonly sessionId: string
  readonly mailFrom: string
  readonly recipients: readonly Recipient[]
  readonly content: Content
  /** The raw that holds these bytes already, when they are those of a message of ours. */
  readonly rawId?: string
  readonly peer: Peer
}

/** Who brought it: an SMTP client, or our own queue for an inbox of ours. */
export type Peer =
  | {
      readonly kind: 'smtp'
      readonly remoteAddress: string
      readonly helo: string
      /** With the TLS of the session in it: SMTP, ESMTP or ESMTPS (RFC 3848). */
      readonly protocol: string
      readonly tls: string | undefined
      /** The DNS list that has its address. */
      readonly dnsList?: string | undefined
    }
  | { readonly kind: 'local' }

/**
 * An arrival that was read and judged, ready to be written. It is a value: it crosses from the thread of its session to
 * the one that writes.
 */
export interface Reception {
  readonly rawId: string
  /** Whose sender rules do not let it in. */
  readonly refused: readonly Refused[]
  /** What it says of deliveries of ours. */
  readonly returned: Returned
  /** The message that it becomes; or why it becomes none, in words for the log. */
  readonly becomes: Accepted | { readonly nothing: string }
}

/** What is kept of a message, for those recipients that let it in. */
export interface Accepted {
  readonly arrival: Arrival
  /** Of its bytes, in hexadecimal. */
  readonly sha256: string
  readonly reading: Reading
  readonly authentication: Authentication
  /** Whether the domain in From is proven; null where authentication is off. */
  readonly fromProven: boolean | null
  /** The value of Authentication-Results; null where nothing was checked. */
  readonly results: string | null
  readonly judged: Judged
}
