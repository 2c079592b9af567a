import type { Content } from '../../blob/content.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { Recipient } from './recipient.ts'

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

/** An arrival that was read and judged, ready to be written. */
export interface Reception {
  readonly rawId: string
  /** In words for the log, when it becomes no message. */
  readonly whyDropped?: string
  /** The rows that it becomes, in the caller's write; gives the ids of the messages. */
  write(db: WriteDb): Promise<string[]>
}
