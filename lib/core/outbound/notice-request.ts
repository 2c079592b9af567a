import type { NoticeAction } from '../../mail/compose/status-notice.ts'

/** What RCPT asks to be told of (RFC 3461 §4.1). */
export const noticeWords = ['NEVER', 'SUCCESS', 'FAILURE', 'DELAY'] as const
export type NoticeWord = (typeof noticeWords)[number]

/** What who submitted a message by SMTP asks to be told of one delivery of it (RFC 3461). */
export interface NoticeRequest {
  /** NOTIFY; null when nothing was said, and then failures and delays are told. */
  readonly notify: readonly NoticeWord[] | null
  /** ORCPT, as `rfc822;bob@example.net`. */
  readonly originalRecipient: string | null
  /** ENVID and RET. */
  readonly envelopeId: string | null
  readonly returned: 'FULL' | 'HDRS' | null
  /** A delay is told once, and not after anything else was. */
  readonly isDelayTold: boolean
  /** What is to be told and is not yet; when something was told last. */
  readonly owed?: Owed
  readonly toldAt?: string
}

/** What is to be told of one recipient, beside what its last attempt found. */
export interface Owed {
  readonly action: NoticeAction
  /** Until when what is delayed is tried. */
  readonly until: string | null
  /** Since when it could not be told. */
  readonly putOffSince?: string
}

/** The column `notify` of a delivery. */
export function readNoticeRequest(column: string | null): NoticeRequest | undefined {
  return column === null ? undefined : (JSON.parse(column) as NoticeRequest)
}

export function asksFor({ notify }: NoticeRequest, word: NoticeWord): boolean {
  return notify === null ? word === 'FAILURE' || word === 'DELAY' : notify.includes(word)
}
