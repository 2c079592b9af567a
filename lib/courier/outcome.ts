import type { ReplyClass } from '../base/reply.ts'
import type { TlsResult } from './tls-result.ts'

/** The text of an attempt that ended before its DNS was known. */
export const resolverSilent = 'the DNS resolver of this server does not answer'

/** What was asked when a reply came: to begin, MAIL, RCPT, DATA, or the message up to its final dot. */
export type Stage = 'connect' | 'mail' | 'rcpt' | 'data' | 'message'

/**
 * How one attempt to carry something ended. A courier never throws for what the other side did.
 * Doubt means later: `permanent` needs proof, all else that is not `delivered` is `transient`.
 */
export interface Outcome {
  readonly result: 'delivered' | 'transient' | 'permanent'
  /** The other side's three digits, where it said some (RFC 5321 §4.2). */
  readonly code?: number
  /** Its enhanced code (RFC 3463), its own or the one that says best what happened here. */
  readonly enhanced?: string
  /** Its text, or ours in plain words; one line, at most 1,000 characters. */
  readonly text: string
  /** What was asked when the other side said so, where a server in the network did. */
  readonly stage?: Stage
  /** What the refusal is about, where config/replies.txt knows. */
  readonly replyClass?: ReplyClass
  /** The host that answered (the MX name) and the address that was connected to. */
  readonly host?: string
  readonly address?: string
  /** The TLS version and cipher, where the session was encrypted: "TLSv1.3 TLS_AES_256_GCM_SHA384". */
  readonly tls?: string
  readonly durationMs: number
  /**
   * What it shows of the destination: that its servers answer, that they do and want less at once, or that they do not.
   * Absent where it shows nothing.
   */
  readonly showing?: 'answers' | 'slows' | 'fails'
  /** Nothing was tried: no address of the servers has answered for a while, or this machine has no way there. Worth trying again in so many milliseconds. */
  readonly triedAgainInMs?: number
  /** The host tells who sent it what becomes of it, as was asked for (RFC 3461). */
  readonly isNoticePassedOn?: true
  /** How TLS with the hosts that were tried went, and with the domain's policy, each to be counted once. */
  readonly tlsResults?: readonly TlsResult[]
}

/**
 * Why an attempt has no outcome: nothing was found out about the message or the servers.
 * - `no-slot`: the destination that the domain leads to has no free slot. Nothing was tried.
 * - `address-full`: the address of the server has as many connections as it may have. Nothing was tried.
 * - `too-slow`: the server did not answer within the time of a first attempt, while other mail waited.
 * - `cut-off`: this process stops, and broke the attempt off.
 */
export type Unfinished = 'no-slot' | 'address-full' | 'too-slow' | 'cut-off'

/** The result of an attempt: an outcome, or the reason why there is none. */
export type Result = Outcome | { readonly result: Unfinished }

/** Returns whether the attempt has an outcome. */
export function isOutcome(result: Result): result is Outcome {
  return 'text' in result
}
