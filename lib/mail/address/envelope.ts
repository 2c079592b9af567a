/** Who a message comes from and goes to on the wire, whatever its header says (RFC 5321 §2.3.1). */
export interface Envelope {
  /** The reverse-path, without angle brackets; empty for the null reverse-path of bounces (RFC 5321 §4.5.5). */
  readonly mailFrom: string
  /** The forward-paths, without angle brackets. */
  readonly rcptTos: readonly string[]
}
