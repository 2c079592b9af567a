import { decodeText } from '../header/charset.ts'
import { charsetOfCodePage } from './code-page.ts'
import { decompressRtf } from './compressed-rtf.ts'
import { type Property, readProperties, stringType, unicodeType } from './properties.ts'
import { readRtf } from './rtf.ts'

/** How deep in one another messages may be that are packed into a winmail.dat. */
const tnefDepth = 4
/** Bytes of all text parts of one message, as they came, that are decoded; the rest of them is in the raw alone. */
export const textPartsBytes = 4 * 1024 * 1024

/** A file that is packed into a TNEF stream, as it stands there. */
export interface PackedFile {
  readonly name: string | undefined
  readonly contentType: string | undefined
  /** Without angle brackets; undefined for none. */
  readonly contentId: string | undefined
  readonly content: Buffer
}

/** What Outlook and Exchange pack into a winmail.dat (MS-OXTNEF). */
export interface Tnef {
  readonly files: readonly PackedFile[]
  /** The text of the message, made when it is asked for: it may be packed itself. Both empty where it has none. */
  readonly body: () => { readonly text: string; readonly html: string }
  /** Whether all of it was read. */
  readonly isWhole: boolean
}

const signature = 0x223e9f78
/** Signature and key. */
const headBytes = 6
/** Of an attribute: level, id, type, length; its checksum, which nobody reads, stands behind its data. */
const attributeHeadBytes = 9
const checksumBytes = 2

/** Attributes by their ids. */
const attributes = {
  body: 0x800c,
  attachData: 0x800f,
  attachTitle: 0x8010,
  attachBegins: 0x9002,
  messageProperties: 0x9003,
  attachProperties: 0x9005,
  codePage: 0x9007,
}

/** Properties by their tags (MS-OXPROPS). */
const tags = {
  body: 0x1000,
  rtf: 0x1009,
  html: 0x1013,
  displayName: 0x3001,
  attachData: 0x3701,
  attachFilename: 0x3704,
  attachLongFilename: 0x3707,
  attachMimeTag: 0x370e,
  attachContentId: 0x3712,
  internetCodePage: 0x3fde,
}

type Properties = ReadonlyMap<number, Property>

interface Packed {
  title: Buffer
  data: Buffer
  properties: Properties
}

interface Stream {
  readonly attached: readonly Packed[]
  readonly properties: Properties
  readonly body: Buffer
  readonly charset: string
  readonly isWhole: boolean
}

/** What is left of what may be taken out of one stream and those that are packed into it. */
interface Room {
  files: number
  textBytes: number
}

const none: Properties = new Map()
const empty: Buffer = Buffer.alloc(0)

/**
 * Reads what is packed into a winmail.dat; undefined for what is none. Files of messages that are attached to it count as its own, and the text
 * of those is a file, too, `tnefDepth` deep. What is broken gives what stands before.
 * @param files so many at the most
 */
export function readTnef(content: Buffer, files: number): Tnef | undefined {
  if (!isTnef(content)) return undefined
  const room = { files, textBytes: textPartsBytes }
  return unpack(content, room, 1)
}

function isTnef(content: Buffer): boolean {
  return content.length >= headBytes && content.readUInt32LE(0) === signature
}

function unpack(content: Buffer, room: Room, depth: number): Tnef {
  const stream = readStream(content, room.files)
  const body = () => bodyOf(stream, textPartsBytes)
  let isWhole = stream.isWhole
  const files: PackedFile[] = []
  for (const packed of stream.attached) {
    if (room.files <= 0) return { files, isWhole: false, body }
    const file = fileOf(packed, stream.charset)
    const inner =
      isTnef(file.content) && depth < tnefDepth ? unpack(file.content, room, depth + 1) : undefined
    // Without room for its text the stream itself must stay, which has it.
    const texts = inner ? textFiles(inner, file.name, room) : []
    const found = inner ? [...(texts ?? []), ...inner.files] : []
    isWhole &&= (inner?.isWhole ?? true) && texts !== undefined
    if (found.length > 0) files.push(...found)
    else {
      room.files--
      files.push(file)
    }
  }
  return { files, isWhole, body }
}

/** The text of an attached message as a file with its name; undefined where there is no room for one. */
function textFiles({ body }: Tnef, name: string | undefined, room: Room): PackedFile[] | undefined {
  if (room.files <= 0 || room.textBytes <= 0) return undefined
  const { text, html } = body()
  const written = html === '' ? text : html
  if (written === '') return []
  const content = Buffer.from(written)
  room.files--
  room.textBytes -= content.length
  const [end, contentType] = html === '' ? ['txt', 'text/plain'] : ['html', 'text/html']
  return [{ name: name && `${name}.${end}`, contentType, contentId: undefined, content }]
}

/** The attributes of a stream, one behind the other (MS-OXTNEF §2.1.1), up to the first file that is one too many. */
function readStream(content: Buffer, files: number): Stream {
  const attached: Packed[] = []
  let properties = none
  let body: Buffer = empty
  let codePage: number | undefined
  let isWhole = true
  let at = headBytes
  while (at + attributeHeadBytes <= content.length) {
    const level = content[at]
    const length = content.readUInt32LE(at + 5)
    const start = at + attributeHeadBytes
    if ((level !== 1 && level !== 2) || start + length > content.length) break
    const data = content.subarray(start, start + length)
    const last = attached.at(-1)
    const id = content.readUInt16LE(at + 1)
    if (id === attributes.attachBegins && attached.length >= files) break
    if (id === attributes.attachBegins) attached.push({ title: empty, data: empty, properties: none })
    else if (id === attributes.attachTitle && last) last.title = data
    else if (id === attributes.attachData && last) last.data = data
    else if (id === attributes.body) body = data
    else if (id === attributes.codePage && length >= 4) codePage = data.readUInt32LE(0)
    else if (id === attributes.messageProperties || id === attributes.attachProperties) {
      const read = propertiesOf(data)
      isWhole &&= read !== undefined
      if (id === attributes.messageProperties) properties = read ?? none
      else if (last) last.properties = read ?? none
    }
    at = start + length + checksumBytes
  }
  // Some leave out the last checksum.
  isWhole &&= at >= content.length
  return { attached, properties, body, charset: charsetOfCodePage(codePage), isWhole }
}

function propertiesOf(block: Buffer): Properties | undefined {
  try {
    return readProperties(block)
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
}

/** Before what is packed into an object stands whose it is (the id of an interface). */
const interfaceIdBytes = 16
const objectType = 0x0d

function fileOf({ title, data, properties }: Packed, charset: string): PackedFile {
  const text = (tag: number) => textOf(properties.get(tag), charset)
  const held = properties.get(tags.attachData)
  const object = held?.type === objectType ? held.value.subarray(interfaceIdBytes) : empty
  // Beside an object stands a word for readers that know none.
  const content = [object, data, held?.value ?? empty].find(({ length }) => length > 0) ?? empty
  const titles = [textOf({ type: stringType, value: title }, charset), text(tags.displayName)]
  // Every message is called "Untitled Attachment" there.
  if (isTnef(content)) titles.reverse()
  return {
    name: text(tags.attachLongFilename) ?? text(tags.attachFilename) ?? titles[0] ?? titles[1],
    contentType: text(tags.attachMimeTag)?.toLowerCase(),
    contentId: text(tags.attachContentId)?.replace(/^<|>$/g, ''),
    content,
  }
}

/** A string without what stands behind its end; undefined for an empty one. */
function textOf(property: Property | undefined, charset: string): string | undefined {
  if (property?.type !== stringType && property?.type !== unicodeType) return undefined
  const kind = property.type === unicodeType ? 'utf-16le' : charset
  const text = decodeText(property.value.subarray(0, textPartsBytes), kind)
  const end = text.indexOf('\0')
  const shown = end < 0 ? text : text.slice(0, end)
  return shown === '' ? undefined : shown
}

/** Its text and its HTML as they stand there; RTF where it has neither, which may hold the HTML. */
function bodyOf({ properties, body, charset }: Stream, most: number): { text: string; html: string } {
  const text = (
    textOf(properties.get(tags.body), charset) ??
    textOf({ type: stringType, value: body }, charset) ??
    ''
  ).replaceAll('\r\n', '\n')
  const html = htmlOf(properties, charset)
  if (text !== '' || html !== '') return { text, html }
  const packed = properties.get(tags.rtf)?.value
  return packed ? readRtf(decompressRtf(packed, most)) : { text: '', html: '' }
}

function htmlOf(properties: Properties, charset: string): string {
  const html = properties.get(tags.html)
  if (!html) return ''
  if (html.type === stringType || html.type === unicodeType) return textOf(html, charset) ?? ''
  const page = properties.get(tags.internetCodePage)?.value
  const kind = page && page.length >= 4 ? charsetOfCodePage(page.readUInt32LE(0)) : charset
  return decodeText(html.value.subarray(0, textPartsBytes), kind).replaceAll('\0', '')
}
