import type { SMTPServerSession } from 'smtp-server'
import type { Log } from '../base/log.ts'
import type { Reply } from '../base/reply.ts'
import type { Recipient } from '../core/inbound/recipient.ts'
import type { Submitter } from '../core/submission/credentials.ts'
import type { DoorName } from './door-name.ts'

/** What the door keeps of one connection, from its greeting to its end. */
export interface Session {
  readonly id: string
  readonly remoteAddress: string
  readonly door: DoorName
  /** Who has authenticated, at a door of submission. */
  submitter: Submitter | undefined
  /** Whether the operator trusts the address: it is neither counted nor kept waiting. */
  readonly isTrusted: boolean
  readonly log: Log
  /** Recipients so far that are not here; a peer that only guesses is sent away. */
  unknownRecipients: number
  /** The DNS list that has the address; asked for when the first message begins. */
  dnsList: Promise<string | undefined> | undefined
  /** The accepted recipients of the transaction under way. */
  recipients: Recipient[]
  /** Ends the session when its whole time is over. */
  deadline: NodeJS.Timeout | undefined
  /** What is looked at when all connections are taken (lib/smtpd/give-way.ts). */
  readonly beganMs: number
  broughtMs: number
  coming: { readonly sinceMs: number; bytes: number } | undefined
  isJudged: boolean
  hadTurn: boolean
  /** From DATA until the reply to the message. */
  isReceivingData: boolean
  /** Said after that reply, as the last of the session: its time is over, the server stops, or the message was broken. */
  dismissal: Reply | undefined
  /** Says this last reply and closes the connection, whatever is under way. */
  end(reply: Reply): void
}

/** The TLS of the session in words for the log and for Received; undefined in the clear. */
export function tlsOf(session: SMTPServerSession): string | undefined {
  const { tlsOptions } = session
  if (!tlsOptions) return undefined
  return `${tlsOptions.version} ${tlsOptions.name}`
}
