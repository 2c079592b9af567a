import { finished, Readable } from 'node:stream'
import type { AttachmentStream, MailParser } from 'mailparser'
import { chunksOf } from '../../base/chunks.ts'
import { limits } from '../../base/limits.ts'
import { type MessageFields, readFields } from '../header/fields.ts'
import { readHeader } from '../header/header.ts'
import { singleLine } from '../header/text.ts'
import { collectReportPart, isReportType, type ReportPart } from '../report/part.ts'
import { type BodyPart, bodyText } from '../text/body-text.ts'
import { acceptPadding, boundParts } from './bounds.ts'
import { receivedFilename } from './filename.ts'

/** What a message says of itself, safe to store and to show: one line where it is one, no NUL, nothing unbounded. */
export interface ParsedMessage extends MessageFields {
  /** Made from the HTML where the message has no text; empty when it has neither. */
  readonly text: string
  readonly html: string
  readonly attachments: readonly ParsedAttachment[]
  /** What a report says to programs (lib/mail/dsn.ts, lib/mail/arf.ts read it), limits.reportParts of them. */
  readonly reportParts: readonly ReportPart[]
  /** What could not be read, in words for the log. */
  readonly problems: readonly string[]
}

export interface ParsedAttachment {
  readonly filename: string
  readonly contentType: string
  /** Decoded. */
  readonly sizeBytes: number
  /** Without angle brackets. */
  readonly contentId: string | null
  /** Meant to be shown in the text, such as an image of the HTML. */
  readonly isInline: boolean
}

export interface OpenAttachment {
  readonly filename: string
  readonly contentType: string
  readonly content: Readable
}

/**
 * Reads a whole message. Never fails for what a message holds: of one that can't be read to its end there is what could
 * be read, and `problems` says why. The header is as large as it is: findHeaderFault is asked before.
 * @throws what the stream of the raw throws
 */
export async function parseMessage(raw: Buffer | Readable): Promise<ParsedMessage> {
  const attachments: { -readonly [key in keyof ParsedAttachment]: ParsedAttachment[key] }[] = []
  const reports: ReturnType<typeof collectReportPart>[] = []
  const reading = await read(raw, attachment => {
    const entry = { ...describe(attachment, attachments.length + 1), sizeBytes: 0 }
    attachments.push(entry)
    const isReport = isReportType(entry.contentType) && reports.length < limits.reportParts
    const report = isReport ? collectReportPart(entry.contentType) : undefined
    if (report) reports.push(report)
    attachment.content.on('data', (chunk: Buffer) => {
      entry.sizeBytes += chunk.length
      report?.add(chunk)
    })
    attachment.content.on('end', () => attachment.release())
  })
  const timer = setTimeout(() => reading.stop('it took too long'), limits.parseMs)
  const { problem, parser, start } = await reading.done.finally(() => clearTimeout(timer))
  const fields = readFields(readHeader(start))
  const tree = parser.tree || { contentType: false, children: [] }
  // The parser shows message/delivery-status as text, unless it is called an attachment.
  const reportParts = [...shownReports(tree), ...reports.map(report => report.end())]
  return {
    ...fields,
    ...bodyText(tree),
    attachments,
    reportParts: reportParts.slice(0, limits.reportParts),
    problems: problem === undefined ? [] : [problem],
  }
}

function shownReports({ contentType, textContent, children }: BodyPart): ReportPart[] {
  const own =
    contentType && textContent && isReportType(contentType)
      ? [{ contentType: contentType.toLowerCase(), content: textContent.slice(0, limits.reportPartBytes) }]
      : []
  return [...own, ...children.flatMap(shownReports)]
}

/**
 * Streams the content of one attachment, counted from 0 as parseMessage lists them, out of the raw. The rest of the raw
 * is not read, and the stream of the raw ends with that of the content.
 * @throws what the stream of the raw throws
 */
export async function openAttachment(raw: Readable, index: number): Promise<OpenAttachment | undefined> {
  let seen = 0
  let opened: Readable | undefined
  const { promise, resolve, reject } = Promise.withResolvers<OpenAttachment | undefined>()
  const reading = await read(raw, attachment => {
    const { content } = attachment
    if (seen++ !== index) {
      content.on('end', () => attachment.release()).resume()
      return
    }
    opened = content
    finished(content, () => reading.stop())
    resolve({ ...describe(attachment, index + 1), content })
  })
  reading.done.then(
    ({ problem }) => {
      if (problem !== undefined) opened?.destroy(new Error(problem))
      resolve(undefined)
    },
    (error: Error) => {
      opened?.destroy(error)
      reject(error)
    },
  )
  return promise
}

function describe(attachment: AttachmentStream, number: number): Omit<ParsedAttachment, 'sizeBytes'> {
  const contentType = mediaType(attachment.contentType)
  const contentId = singleLine(attachment.contentId ?? '').replace(/^<|>$/g, '')
  return {
    filename: receivedFilename(attachment.filename, contentType, number),
    contentType,
    contentId: contentId === '' ? null : contentId,
    isInline: attachment.contentDisposition === 'inline' || attachment.related === true,
  }
}

/** RFC 2045 §5.1; what is no media type is octets. */
function mediaType(text: string | false): string {
  return text && /^[\w!#$&^.+-]{1,63}\/[\w!#$&^.+-]{1,63}$/.test(text) ? text : 'application/octet-stream'
}

/** Larger raws are read in pieces, with turns of the event loop between them. */
const sliceBytes = 64 * 1024

interface Reading {
  readonly parser: MailParser
  /** Why the message was not read to its end. */
  readonly problem: string | undefined
  /** As much of the raw as a header may take. */
  readonly start: Buffer
}

/** Starts to read; each attachment must be read and released, or the reading stopped. */
async function read(
  raw: Buffer | Readable,
  onAttachment: (attachment: AttachmentStream) => void,
): Promise<{ done: Promise<Reading>; stop(problem?: string): void }> {
  // Costs 150 ms, which commands that read no message need not spend.
  const { MailParser } = await import('mailparser')
  const parser = new MailParser({
    checksumAlgo: 'sha1',
    ignoreEmbedded: true,
    // Only a stop: it would end the reading before the parts of the same chunk were read (boundParts does not).
    maxChildNodes: 20 * limits.mimeParts,
    // A repaired header is longer than what came.
    maxHeadSize: 4 * limits.headerBytes,
  })
  // Of text and HTML the parser would make each other without a bound (lib/mail/body-text.ts does).
  parser.getTextContent = () => ({ type: 'text' })
  // One buffer, when there are any bytes.
  const start: Buffer[] = []
  const source = Readable.from(slices(raw, start), { objectMode: false, highWaterMark: sliceBytes })
  const { promise, resolve, reject } = Promise.withResolvers<Reading>()
  const settle = (problem?: string) => {
    resolve({ parser, problem, start: Buffer.concat(start) })
    source.destroy()
    // The source can't, while it waits for the next chunk.
    if (!Buffer.isBuffer(raw)) raw.destroy()
    parser.destroy()
  }
  boundParts(parser, settle)
  acceptPadding(parser)
  parser.on('error', (error: Error) => settle(error.message))
  parser.on('end', () => settle())
  parser.on('data', (data: AttachmentStream | { type: 'text' }) => {
    if (data.type !== 'attachment') return
    // A part that can't be decoded ends the reading, as any other fault does.
    data.content.on('error', (error: Error) => settle(error.message))
    onAttachment(data)
  })
  source.on('error', error => {
    reject(error)
    parser.destroy()
  })
  source.pipe(parser)
  return { done: promise, stop: settle }
}

/** The raw in pieces, its header in the first of them, which are kept in `start`. Ends the stream that it reads from. */
async function* slices(raw: Buffer | Readable, start: Buffer[]): AsyncGenerator<Buffer> {
  let held: Buffer | undefined = Buffer.alloc(0)
  for await (const chunk of Buffer.isBuffer(raw) ? [raw] : chunksOf(raw)) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      const slice = chunk.subarray(at, at + sliceBytes)
      if (held === undefined) {
        yield slice
        continue
      }
      held = held.length === 0 ? slice : Buffer.concat([held, slice])
      if (held.length < limits.headerBytes) continue
      start.push(held)
      yield held
      held = undefined
    }
  }
  if (held === undefined || held.length === 0) return
  start.push(held)
  yield held
}
