import type { Mailbox } from '../../mail/header/mailbox.ts'

/** Somebody who is written to: the address is in the form that is compared, `written` as it was given. */
export interface Person extends Mailbox {
  readonly written?: string | undefined
}
