import type { Content } from '../blob/content.ts'
import type { AuthenticatedMessage } from '../mail/authentication/authenticator.ts'
import type { Classified } from '../mail/message/automatic.ts'
import type { ParsedMessage } from '../mail/message/read.ts'
import type { FeedbackReport } from '../mail/report/feedback.ts'
import type { ReturnedRecipient } from '../mail/report/recipient.ts'

/** A message that is to be read, as plain data: it crosses into a thread. */
export interface ReadingRequest {
  /** Its header within headerBytes and headerLines (findHeaderFault). */
  readonly content: Content
  /** The reverse-path; empty for the null one. */
  readonly mailFrom: string
  /** Who brought it, where SPF, DKIM and DMARC are to be checked; null where not. */
  readonly peer: { readonly remoteAddress: string; readonly helo: string } | null
  /** Whether it came to where reports come (the reverse-path of a delivery, postmaster), so that it is read as one. */
  readonly mayReport: boolean
  /** Whom the deliveries were for to whose reverse-paths it came. */
  readonly deliveredTo: readonly string[]
}

/** All that a message says and what is known of its author, as plain data. */
export interface Reading {
  /** Its `problems` say what could not be read. */
  readonly message: Omit<ParsedMessage, 'reportParts' | 'lacksGuess' | 'calendarMethod'>
  /** False when nothing but its header was read: to read the rest failed. */
  readonly isWhole: boolean
  readonly classified: Classified
  /** Null when it was not asked for, or could not be found out. */
  readonly authentication: AuthenticatedMessage | null
  /** The column `extracted` of its row. */
  readonly extracted: string
  /** What it says as a delivery status notification, and as a feedback report; nothing unless `mayReport`. */
  readonly told: readonly ReturnedRecipient[]
  readonly feedback: FeedbackReport | null
}
