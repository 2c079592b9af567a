/** What a delivery status notification says of one recipient (RFC 3464 §2.3). */
export interface ReturnedRecipient {
  /** The address that it speaks of, and the one that the message was given for; as `normaliseAddress` gives them. */
  readonly finalRecipient: string | undefined
  readonly originalRecipient: string | undefined
  readonly action: Action
  /** The three digits and the enhanced code (RFC 3463) that say best why, where any are said. */
  readonly code: number | undefined
  readonly enhanced: string | undefined
  /** What the other side said: one line, at most reportTextLength. */
  readonly text: string
  /** The host that said it, or the one that tells of it. */
  readonly host: string | undefined
}

export type Action = 'failed' | 'delayed' | 'delivered' | 'relayed' | 'expanded'
