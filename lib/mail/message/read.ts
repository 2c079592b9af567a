import { decodeText, isSaid, markupCharset } from '../header/charset.ts'
import type { CharsetGuess } from '../header/charset-guess.ts'
import { type MessageFields, readFields } from '../header/fields.ts'
import { lastField, readHeader } from '../header/header.ts'
import { singleLine } from '../header/text.ts'
import { isReportType, type ReportPart, reportPart } from '../report/part.ts'
import { type BodyPart, bodyText } from '../text/body-text.ts'
import { unflow } from '../text/flowed.ts'
import { type PackedFile, readTnef, type Tnef, textPartsBytes } from '../tnef/tnef.ts'
import { type AttachmentDescription, describeAttachment, isAttachment } from './attachment.ts'
import { receivedFilename, typeOfFilename } from './filename.ts'
import { isMediaType } from './media-type.ts'
import type { Part } from './part.ts'
import { hasSkippedLine, readPartTree, readWholeTree } from './part-tree.ts'
import { mayBeSigned } from './signed.ts'
import { type Conversation, readThreadIndex } from './thread-index.ts'
import { decodedLength, decodeTransfer, isBase64Text } from './transfer-encoding.ts'
import { mimeParts } from './uuencoded-files.ts'

/** Parts of a report (a bounce, a complaint) that are read. */
export const reportParts = 10

/** What a message says of itself, safe to store and to show: one line where it is one, no NUL, nothing unbounded. */
export interface ParsedMessage extends MessageFields {
  /** What Exchange says of it. */
  readonly conversation: Conversation | null
  /** The method of its first calendar part that names one, such as `REPLY`; null without one. */
  readonly calendarMethod: string | null
  /** Made from the HTML where the message has no text; empty when it has neither. */
  readonly text: string
  readonly html: string
  readonly attachments: readonly ParsedAttachment[]
  /** What a report says to programs (lib/mail/report reads it), reportParts of them. */
  readonly reportParts: readonly ReportPart[]
  /** What could not be read, or is not all there, in words for the log. */
  readonly problems: readonly string[]
  /** Whether another reading with a detector of charsets may read more of it right. */
  readonly lacksGuess: boolean
}

interface ParsedAttachment extends AttachmentDescription {
  /** Decoded. */
  readonly sizeBytes: number
}

/**
 * Reads a whole message: a pure function of its bytes, in a time that grows with them, and plain data. Never fails for
 * what a message holds: of one that can't be read to its end there is what could be read, and `problems` says why. Takes
 * about three times the raw in memory.
 * @param guess finds out the charset of what is not what it is said to be; without it that is windows-1252
 */
export function readMessage(raw: Buffer, guess?: CharsetGuess): ParsedMessage {
  const header = readHeader(raw)
  const { root, problems } = readWholeTree(raw, header)
  const reading = createReading(guess)
  const body = reading.read(root)
  const own = bodyText(body)
  const isEmpty = own.html === '' && own.text.trim() === ''
  const { text, html, isCut } = isEmpty ? (reading.packedText() ?? own) : own
  return {
    ...readFields(header),
    conversation: readThreadIndex(lastField(header, 'thread-index') ?? ''),
    calendarMethod:
      leavesOf(root)
        .find(part => part.calendarMethod !== '')
        ?.calendarMethod.slice(0, 20) ?? null,
    text,
    html,
    attachments: reading.attachments,
    reportParts: [...reading.shownReports, ...reading.reports].slice(0, reportParts),
    problems: [
      ...(header.fault === undefined ? [] : [`the header has ${header.fault}`]),
      ...(hasSkippedLine(header) ? ['a line in the header is no field'] : []),
      ...problems,
      ...(isCut || reading.isTextCut() ? ['more text than is kept'] : []),
    ],
    lacksGuess: guess === undefined && reading.wasGuessed(),
  }
}

/** How many bytes of a message, as they came, are text of it and no attachments, or may be: what to read it takes its time for. */
export function textBytesOf(raw: Buffer): number {
  const { root } = readPartTree(raw, readHeader(raw))
  const attached = new Set(attachmentsOf(root))
  return leavesOf(root).reduce(
    (bytes, part) =>
      attached.has(part) && !mayBeTnef(part) && !mayBeSigned(part) ? bytes : bytes + part.end - part.start,
    0,
  )
}

/** The bytes of one attachment, counted from 0 as readMessage lists them, with what it is; undefined for none. */
export function openAttachment(raw: Buffer, index: number): OpenedAttachment | undefined {
  const { root } = readWholeTree(raw, readHeader(raw))
  let before = 0
  for (const part of attachmentsOf(root)) {
    // One that is certainly not packed is not decoded to be counted.
    if (!mayBeTnef(part) && before < index) {
      before++
      continue
    }
    const { attachments } = openPart(part, before)
    const found = attachments[index - before]
    if (found) return found
    before += attachments.length
  }
  return undefined
}

/** The bytes of all attachments, as readMessage lists them: the parts are looked for once. */
export function openAttachments(raw: Buffer): Buffer[] {
  const { root } = readWholeTree(raw, readHeader(raw))
  const contents: Buffer[] = []
  for (const part of attachmentsOf(root)) {
    contents.push(...openPart(part, contents.length).attachments.map(({ content }) => content))
  }
  return contents
}

function createReading(guess: CharsetGuess | undefined) {
  const attachments: ParsedAttachment[] = []
  const shownReports: ReportPart[] = []
  const reports: ReportPart[] = []
  let room: number = textPartsBytes
  let isCut = false
  let wasGuessed = false
  let packed: Tnef | undefined
  const attached = new Set<Part>()

  const guessed: CharsetGuess = bytes => {
    wasGuessed = true
    return guess?.(bytes) ?? ''
  }
  const attach = (part: Part) => {
    if (!mayBeTnef(part)) {
      const described = describeAttachment(part, attachments.length + 1)
      if (!isReportType(described.contentType)) {
        // Nobody asks for its bytes here.
        const sizeBytes = decodedLength(part.raw.subarray(part.start, part.end), part.encoding)
        attachments.push({ ...described, sizeBytes })
        return
      }
    }
    const opened = openPart(part, attachments.length)
    packed ??= opened.tnef
    for (const { content, charset, ...described } of opened.attachments) {
      attachments.push({ ...described, sizeBytes: content.length })
      if (isReportType(described.contentType) && reports.length < reportParts) {
        reports.push(reportPart(described.contentType, content))
      }
    }
  }
  const textOf = (part: Part): string => {
    const end = Math.min(part.end, part.start + room)
    if (end < part.end) isCut = true
    room -= end - part.start
    const encoded = part.raw.subarray(part.start, end)
    const isPlain = part.encoding === 'base64' && !isBase64Text(encoded)
    const content = isPlain ? encoded : decodeTransfer(encoded, part.encoding)
    const isMarkup = part.contentType === 'text/html'
    const charset = isMarkup && !isSaid(part.charset) ? markupCharset(content) : part.charset
    const text = decodeText(content, charset, guessed)
    const lines = text.replaceAll('\r\n', '\n')
    return part.isFlowed ? unflow(lines, part.deletesSpace) : lines
  }
  const read = (part: Part): BodyPart => {
    if (part.children.length > 0) {
      return { contentType: part.contentType, children: part.children.map(read) }
    }
    if (attached.has(part)) {
      attach(part)
      return { contentType: part.contentType, children: [] }
    }
    const textContent = textOf(part)
    if (isReportType(part.contentType))
      shownReports.push(reportPart(part.contentType, Buffer.from(textContent)))
    return { contentType: part.contentType, textContent, children: [] }
  }
  return {
    attachments,
    shownReports,
    reports,
    isTextCut: () => isCut,
    wasGuessed: () => wasGuessed,
    /** The text that Outlook packed among the attachments. */
    packedText() {
      const { text = '', html = '' } = packed?.body() ?? {}
      if (text === '' && html === '') return undefined
      const forms = { 'text/plain': text, 'text/html': html }
      const children = Object.entries(forms).map(([contentType, textContent]) => ({
        contentType,
        textContent,
        children: [],
      }))
      return bodyText({ contentType: 'multipart/alternative', children })
    },
    read(root: Part): BodyPart {
      for (const part of attachmentsOf(root)) attached.add(part)
      return read(root)
    },
  }
}

/** The parts that are attachments, in order. */
function attachmentsOf(root: Part): Part[] {
  const found: Part[] = []
  let hasText = false
  for (const part of leavesOf(root)) {
    if (isAttachment(part, hasText)) found.push(part)
    else hasText = true
  }
  return found
}

/** Parts that hold no others; their depth is bounded by mimeDepth. */
function leavesOf(part: Part): Part[] {
  return part.children.length === 0 ? [part] : part.children.flatMap(leavesOf)
}

/** An attachment with its bytes; its charset as its part says it, empty for none said. */
interface OpenedAttachment extends AttachmentDescription {
  readonly charset: string
  readonly content: Buffer
}

/** The bytes of a part, without their encoding. */
function contentOf({ raw, start, end, encoding }: Part): Buffer {
  return decodeTransfer(raw.subarray(start, end), encoding)
}

/** Whether a part is said to be what Outlook packs attachments into, or called as that is. */
function mayBeTnef({ contentType, filename }: Part): boolean {
  if (contentType === 'application/ms-tnef' || contentType === 'application/vnd.ms-tnef') return true
  return contentType === 'application/octet-stream' && /^winmail\d{0,4}\.dat$/i.test(filename ?? '')
}

/**
 * What a part that is an attachment brings: the files that are packed into it (TNEF), or itself; itself behind them when not all of
 * it could be read.
 * @param before how many attachments stand before it
 */
function openPart(
  part: Part,
  before: number,
): { readonly attachments: readonly OpenedAttachment[]; readonly tnef: Tnef | undefined } {
  const content = contentOf(part)
  const tnef = mayBeTnef(part) ? readTnef(content, mimeParts - before) : undefined
  const files = (tnef?.files ?? []).map((file, at) => openFile(file, before + at + 1))
  if (tnef?.isWhole && files.length > 0) return { attachments: files, tnef }
  const itself = describeAttachment(part, before + files.length + 1)
  return { attachments: [...files, { ...itself, charset: part.charset, content }], tnef }
}

function openFile({ name, contentType: said = '', contentId, content }: PackedFile, number: number) {
  const contentType = isMediaType(said) && said !== 'application/octet-stream' ? said : typeOfFilename(name)
  return {
    filename: receivedFilename(name, contentType, number),
    contentType,
    contentId: contentId === undefined ? null : singleLine(contentId),
    isInline: contentId !== undefined,
    charset: '',
    content,
  }
}
