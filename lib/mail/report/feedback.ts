/** What a feedback report says (RFC 5965), in its form or in that of a provider. */
export interface FeedbackReport {
  /** In lower case: `abuse`, `fraud`, `not-spam` … */
  readonly type: string
  /** The reverse-paths under which the reported message is said to have come, by the report and by the message. */
  readonly originalMailFroms: readonly string[]
  /** Whom it was for; often left out or made unreadable. */
  readonly originalRcptTos: readonly string[]
  /** Of a report that a message failed authentication what failed (RFC 6591 §3.3): `dkim …`, one line. */
  readonly authFailure: string | undefined
}
