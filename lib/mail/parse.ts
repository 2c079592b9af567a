import { finished, Readable } from 'node:stream'
import type { AttachmentStream, HeaderLine, MailParser, ParsedAddresses, TreeNode } from 'mailparser'
import { limits } from '../base/limits.ts'
import { bodyText } from './body-text.ts'
import { parseDate } from './date.ts'
import { receivedFilename } from './filename.ts'
import { singleLine } from './header-text.ts'
import { addressNames, type Mailbox, mailboxes } from './mailbox.ts'
import { readMessageIds, readReferences } from './message-id.ts'

/** What a message says of itself, safe to store and to show: one line where it is one, no NUL, nothing unbounded. */
export interface ParsedMessage {
  /** Message-IDs are in angle brackets. */
  readonly rfcMessageId: string | null
  readonly inReplyTo: readonly string[]
  /** From the first to the last; of a longer chain the first and the newest. */
  readonly references: readonly string[]
  readonly from: Mailbox | null
  readonly sender: Mailbox | null
  readonly to: readonly Mailbox[]
  readonly cc: readonly Mailbox[]
  readonly replyTo: readonly Mailbox[]
  /** Display names on From, To and Cc by lower-case address. */
  readonly addressNames: Readonly<Record<string, string>> | null
  readonly subject: string
  /** Made from the HTML where the message has no text; empty when it has neither. */
  readonly text: string
  readonly html: string
  /** ISO; null when the field is missing or says no date. */
  readonly date: string | null
  readonly attachments: readonly ParsedAttachment[]
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
  const reading = await read(raw, attachment => {
    const entry = { ...describe(attachment, attachments.length + 1), sizeBytes: 0 }
    attachments.push(entry)
    attachment.content.on('data', (chunk: Buffer) => {
      entry.sizeBytes += chunk.length
    })
    attachment.content.on('end', () => attachment.release())
  })
  const timer = setTimeout(() => reading.stop('it took too long'), limits.parseMs)
  const { problem, parser, start } = await reading.done.finally(() => clearTimeout(timer))
  const fields = readFields(parser.headers ? parser : await readHeaderAlone(start))
  const body = bodyText(parser.tree || { contentType: false, children: [] })
  return { ...fields, ...body, attachments, problems: problem === undefined ? [] : [problem] }
}

/** Of a message whose header is too large for the parser: as many of its fields as are not. */
async function readHeaderAlone(start: Buffer): Promise<MailParser> {
  const end = start.subarray(0, limits.headerBytes).lastIndexOf('\n') + 1
  const reading = await read(Buffer.concat([start.subarray(0, end), Buffer.from('\r\n')]), () => {})
  return (await reading.done).parser
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

type Fields = Omit<ParsedMessage, 'text' | 'html' | 'attachments' | 'problems'>

function readFields({ headers, headerLines }: MailParser): Fields {
  const fields = headers || new Map<string, unknown>()
  const lists = (name: string) =>
    [fields.get(name) ?? []].flat().flatMap(each => mailboxes((each as ParsedAddresses).value))
  const text = (name: string) => [fields.get(name) ?? []].flat().filter(each => typeof each === 'string')
  const [from, sender, to, cc] = [lists('from'), lists('sender'), lists('to'), lists('cc')]
  return {
    rfcMessageId: readMessageIds(text('message-id').join(' '))[0] ?? null,
    inReplyTo: readReferences(text('in-reply-to').join(' ')),
    references: readReferences(text('references').join(' ')),
    from: from[0] ?? null,
    sender: sender[0] ?? null,
    to,
    cc,
    replyTo: lists('reply-to'),
    addressNames: addressNames([...from, ...to, ...cc]),
    subject: singleLine(text('subject').join(' ')),
    date: readDate(headerLines || []),
  }
}

/** From the field itself: mailparser makes the present moment of a date that is none. */
function readDate(lines: readonly HeaderLine[]): string | null {
  const field = lines.find(({ key }) => key === 'date')?.line ?? ''
  return parseDate(field.slice(field.indexOf(':') + 1).replace(/\s+/g, ' '))
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
    skipImageLinks: true,
    checksumAlgo: 'sha1',
    ignoreEmbedded: true,
    maxChildNodes: limits.mimeParts,
    maxHeadSize: limits.headerBytes + '\r\n'.length,
  })
  // Of text and HTML the parser would make each other without a bound (lib/mail/body-text.ts does).
  parser.getTextContent = () => ({ type: 'text' })
  boundTextParts(parser)
  const start: Buffer[] = []
  const source = Readable.from(slices(raw, start), { objectMode: false, highWaterMark: sliceBytes })
  const { promise, resolve, reject } = Promise.withResolvers<Reading>()
  const settle = (problem?: string) => {
    resolve({ parser, problem, start: Buffer.concat(start) })
    source.destroy()
    parser.destroy()
  }
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

/** The raw in pieces; the first of them are kept in `start`. Ends the stream that it reads from. */
async function* slices(raw: Buffer | Readable, start: Buffer[]): AsyncGenerator<Buffer> {
  let kept = 0
  for await (const chunk of Buffer.isBuffer(raw) ? [raw] : (raw as AsyncIterable<Buffer>)) {
    for (let at = 0; at < chunk.length; at += sliceBytes) {
      const slice = chunk.subarray(at, at + sliceBytes)
      if (kept < limits.headerBytes) start.push(slice)
      kept += slice.length
      yield slice
    }
  }
}

/** Of a very long text part the rest is passed over: its bytes are decoded at one go. */
function boundTextParts(parser: MailParser): void {
  const process = parser.processChunk.bind(parser)
  const taken = new WeakMap<TreeNode, number>()
  parser.processChunk = (chunk, done) => {
    const part = parser.curnode
    if (chunk.type === 'body' && part && !part.isAttachment) {
      const bytes = (taken.get(part) ?? 0) + (chunk.value?.length ?? 0)
      taken.set(part, bytes)
      if (bytes > limits.textPartBytes) {
        setImmediate(done)
        return
      }
    }
    process(chunk, done)
  }
}
