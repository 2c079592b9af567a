/** What a check of a domain, its host or the server found. */
export interface Finding {
  /** error: mail is lost or refused; warning: some of it, or soon; hint: what is good to have. */
  readonly level: 'error' | 'warning' | 'hint'
  readonly code: string
  /** The name, address or file that it is about. */
  readonly subject: string
  readonly message: string
  /** What to put into a zone, a file or a shell; null: there is no such text. */
  readonly paste: string | null
}
