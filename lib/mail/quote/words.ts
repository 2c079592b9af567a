/** What mail programs write around a quote in one language; several forms are parted by `|`, in lower case. */
export interface QuoteWords {
  /** The word that says of a name that it wrote what follows: `On …, Bob wrote:`. */
  readonly wrote: string
  /** How such a line begins before its date. */
  readonly on: string
  /** The names of the header fields that stand above what Outlook and others quote. */
  readonly from: string
  readonly date: string
  readonly to: string
  readonly subject: string
  /** `-----Original Message-----`, without the dashes. */
  readonly original: string
  /** `---------- Forwarded message ---------`, the same; Apple's words, which have none, too. */
  readonly forwarded: string
  /** What stands before the subject of a forwarded message. */
  readonly prefix: string
  /** How the line begins that a device or a program adds at the end. */
  readonly sentFrom: string
}
