import type { Authenticator } from '../mail/authentication/authenticator.ts'
import type { CharsetGuess } from '../mail/header/charset-guess.ts'
import { type Header, readHeader } from '../mail/header/header.ts'
import { classify, hasProgramHeader } from '../mail/message/automatic.ts'
import { type ParsedMessage, readMessage } from '../mail/message/read.ts'
import { readFeedbackReport } from '../mail/report/arf.ts'
import { readDsn } from '../mail/report/dsn.ts'
import { extract } from './extraction.ts'
import { extractionColumn, nothingFound } from './found.ts'
import type { Reading, ReadingRequest } from './reading.ts'

/**
 * What the bytes of a message say; who wrote it is found out apart, for that waits for DNS. `lacksGuess`: it should be read again
 * with a detector of charsets.
 */
export type Read = Omit<Reading, 'authentication'> & { readonly lacksGuess: boolean }

/**
 * Reads one message: header, parts and texts, class, extraction, search words, reports. It is done where it can be
 * stopped (lib/reading/worker.ts), for it is all computing on what a stranger wrote.
 * @throws what is a fault of ours in the reading
 */
export function readMail(bytes: Buffer, request: ReadingRequest, guess?: CharsetGuess): Read {
  return compose(readHeader(bytes), readMessage(bytes, guess), request, true)
}

/** All of it, or what its header says where a fault of ours keeps the rest from being read. */
export function readWhatCanBe(bytes: Buffer, request: ReadingRequest, guess?: CharsetGuess): Read {
  try {
    return readMail(bytes, request, guess)
  } catch (error) {
    return readHeaderAlone(bytes, request, `it could not be read: ${String(error)}`)
  }
}

/**
 * What its header says of a message whose reading failed; `problem` says why it did. Little work, whatever stands in it:
 * the header is within its bounds.
 * @param start the beginning of its bytes, at least the header
 */
export function readHeaderAlone(start: Buffer, request: ReadingRequest, problem: string): Read {
  const header = readHeader(start)
  const message = readMessage(start.subarray(0, header.bodyOffset))
  const alone = { ...message, text: '', html: '', attachments: [], reportParts: [], problems: [problem] }
  return compose(header, alone, request, false)
}

function compose(
  header: Header,
  { reportParts, lacksGuess, calendarMethod, ...message }: ParsedMessage,
  { mailFrom, mayReport, deliveredTo }: ReadingRequest,
  isWhole: boolean,
): Read {
  const from = message.from?.address ?? null
  const sent = { header, mailFrom, from, subject: message.subject, calendarMethod }
  const extraction = isWhole ? extract(message, hasProgramHeader(sent)) : undefined
  const { otp = null, replyText } = extraction ?? {}
  const classified = classify({ ...sent, text: replyText ?? '', html: message.html, otp })
  const isBounce = classified.category === 'bounce'
  return {
    message,
    isWhole,
    lacksGuess,
    classified,
    extracted: extraction ? extractionColumn(message, extraction) : nothingFound,
    // It is about what it came back to, and about nothing else.
    told: deliveredTo.length > 0 ? readDsn({ ...message, reportParts, header, isBounce }, deliveredTo) : [],
    feedback: (mayReport && readFeedbackReport(reportParts, message.text)) || null,
  }
}

/** Who wrote it, as far as it can be proven; null where that is not asked. */
export async function authenticate(
  raw: Buffer,
  { message: { author } }: Pick<Read, 'message'>,
  { mailFrom, peer }: ReadingRequest,
  authenticator: Authenticator,
): Promise<Reading['authentication']> {
  return peer && authenticator.authenticate({ raw, author, mailFrom, ...peer })
}
