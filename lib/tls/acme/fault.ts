/** A CA did not give a certificate; the message is one line, with what it said. */
export class AcmeFault extends Error {
  override readonly name = 'AcmeFault'
  /** How long it asks to be left alone. */
  readonly retryAfterMs: number

  constructor(message: string, { retryAfterMs = 0, cause }: { retryAfterMs?: number; cause?: unknown } = {}) {
    super(message, { cause })
    this.retryAfterMs = retryAfterMs
  }
}
