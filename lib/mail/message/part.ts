import { decodeWords } from '../header/encoded-word.ts'
import { type Header, type HeaderField, lastField } from '../header/header.ts'
import { readParameters } from '../header/parameters.ts'
import { isMediaType } from './media-type.ts'

/** Bytes of the header of a MIME part. */
export const partHeaderBytes = 16 * 1024

/** A part of a message (RFC 2045 §2.4), or the message itself: what its header says, and where its body stands in the raw. */
export interface Part {
  /** In lower case; what holds where none is said, or nothing that can be one (RFC 2045 §5.2), is the parent's word. */
  readonly contentType: string
  readonly charset: string
  /** Of a multipart, as bytes in Latin-1. */
  readonly boundary: string
  readonly isFlowed: boolean
  readonly deletesSpace: boolean
  /** `attachment`, `inline`, or empty for none said. */
  readonly disposition: string
  readonly filename: string | undefined
  readonly encoding: string
  readonly contentId: string
  /** Of a text/calendar part what its Content-Type names as its method (RFC 6047 §2.4), in upper case; empty without one. */
  readonly calendarMethod: string
  readonly parent: Part | undefined
  readonly children: readonly Part[]
  /** The bytes that `start` and `end` count in: the message, or what was signed within it. */
  readonly raw: Buffer
  readonly start: number
  readonly end: number
}

/** A part while it is being read: more children may come, and its end is not known. */
export interface OpenPart extends Part {
  contentType: string
  readonly children: OpenPart[]
  start: number
  end: number
}

/** The part that a header describes, whose body begins at `start`. */
export function partOf(
  header: Header,
  parent: Part | undefined,
  raw: Buffer,
  start: number,
  end: number,
): OpenPart {
  const typeField = typeFieldOf(header, raw, start)
  const read = readParameters(typeField?.value ?? '')
  // `text/plain charset=utf-8`: the semicolon was forgotten.
  const type = { ...read, value: /^[^\s]*/.exec(read.value)![0] }
  const disposition = readParameters(decodeWords(lastField(header, 'content-disposition') ?? ''))
  const { charset, boundary, format, delsp, name, method } = type.parameters
  const { filename = name } = disposition.parameters
  return {
    contentType: isMediaType(type.value) ? type.value : unsaidType(type.value, parent),
    charset: /^[^\s(;]*/.exec(charset ?? '')![0],
    boundary: boundaryOf(boundary ?? '', typeField?.isUtf8),
    isFlowed: format?.toLowerCase() === 'flowed',
    deletesSpace: delsp?.toLowerCase() === 'yes',
    // RFC 2183 §2.8: one that nobody knows is an attachment.
    disposition: ['', 'inline'].includes(disposition.value) ? disposition.value : 'attachment',
    filename: filename && decodeWords(filename),
    encoding: /^\s*"?([\w-]*)/.exec(lastField(header, 'content-transfer-encoding') ?? '')![1]!.toLowerCase(),
    contentId: lastField(header, 'content-id') ?? '',
    calendarMethod: type.value === 'text/calendar' ? (method ?? '').trim().toUpperCase() : '',
    parent,
    children: [],
    raw,
    start,
    end,
  }
}

/** The most Content-Type fields of one part that are looked at. */
const typeFields = 8

/** The Content-Type that counts: of several the last whose boundary stands at the beginning of the body, else the last. */
function typeFieldOf(header: Header, raw: Buffer, start: number): HeaderField | undefined {
  const fields = header.fields.filter(({ lowerName }) => lowerName === 'content-type').slice(-typeFields)
  if (fields.length < 2) return fields[0]
  const head = raw.subarray(start, start + partHeaderBytes)
  const fitting = fields.findLast(({ value, isUtf8 }) => {
    const { boundary = '' } = readParameters(value).parameters
    const line = `--${boundaryOf(boundary, isUtf8)}`
    return (
      boundary !== '' && (head.indexOf(line, 0, 'latin1') === 0 || head.includes(`\n${line}`, 0, 'latin1'))
    )
  })
  return fitting ?? fields.at(-1)
}

/** RFC 2046 §5.1.5 for a digest; a multipart of no known kind is mixed (§5.1.7); else text, unless what was said is no type. */
function unsaidType(said: string, parent: Part | undefined): string {
  if (said.startsWith('multipart')) return 'multipart/mixed'
  if (parent?.contentType === 'multipart/digest') return 'message/rfc822'
  return /^(?:text(?:\/\*?)?)?$/.test(said) ? 'text/plain' : 'application/octet-stream'
}

function boundaryOf(text: string, isUtf8: boolean | undefined): string {
  return Buffer.from(text.trimEnd(), isUtf8 ? 'utf8' : 'latin1').toString('latin1')
}
