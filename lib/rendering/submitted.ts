import { type Content, readContent } from '../blob/content.ts'
import { withoutForeignResults } from '../mail/authentication/foreign-results.ts'
import { relaxedBodyHash } from '../mail/compose/canonical.ts'
import { bodyOf } from '../mail/compose/dkim.ts'
import { type Mended, type Mending, mendSubmitted } from '../mail/compose/submitted.ts'
import type { SubmittedPeople } from '../mail/compose/submitted-people.ts'
import { loadCharsetGuess } from '../mail/header/charset-guess.ts'
import { type ParsedMessage, readMessage } from '../mail/message/read.ts'

/** A message that was written elsewhere and is to be sent, as plain data: it crosses into a thread. */
export interface Submitted {
  readonly content: Content
  /** Our name, in which no one else states results of authentication. */
  readonly hostname: string
  readonly mending: Mending
}

/** It as it goes out, and what its row and its signature are made of; or why it is not sent. */
export type Accepted =
  | {
      readonly raw: Buffer
      readonly rfcMessageId: string
      readonly people: SubmittedPeople
      /** Of `raw`, as a DKIM signature has it (`bh=`). */
      readonly bodyHash: string
      readonly message: Omit<ParsedMessage, 'reportParts' | 'lacksGuess' | 'calendarMethod'>
    }
  | Extract<Mended, { refusal: string }>

/**
 * Mends, reads and hashes it: all of a submission that grows with what a client wrote. Results of authentication that claim to
 * be ours are left out (RFC 8601 §5): our signature would say that they are.
 */
export async function acceptSubmitted({ content, hostname, mending }: Submitted): Promise<Accepted> {
  const mended = mendSubmitted(await readContent(content), mending)
  if ('refusal' in mended) return mended
  const header = mended.raw.subarray(0, mended.raw.length - bodyOf(mended.raw).length)
  const { kept, sectionBytes } = withoutForeignResults(header, hostname)
  const isAllKept = kept.length === sectionBytes
  const raw = isAllKept ? mended.raw : Buffer.concat([kept, mended.raw.subarray(sectionBytes)])
  const first = readMessage(raw)
  const { reportParts, lacksGuess, calendarMethod, ...message } = first.lacksGuess
    ? readMessage(raw, await loadCharsetGuess())
    : first
  return { ...mended, raw, bodyHash: await relaxedBodyHash(bodyOf(raw)), message }
}
