import { decodeWords } from '../header/encoded-word.ts'
import { type Header, lastField } from '../header/header.ts'
import { readParameters } from '../header/parameters.ts'
import { isMediaType } from './media-type.ts'

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
export function partOf(header: Header, parent: Part | undefined, start: number, end: number): OpenPart {
  const type = readParameters(lastField(header, 'content-type') ?? '')
  const disposition = readParameters(decodeWords(lastField(header, 'content-disposition') ?? ''))
  const { charset, boundary, format, delsp, name, method } = type.parameters
  const { filename = name } = disposition.parameters
  return {
    contentType: isMediaType(type.value) ? type.value : unsaidType(type.value, parent),
    charset: /^[^\s(;]*/.exec(charset ?? '')![0],
    boundary: boundaryOf(boundary ?? '', header),
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
    start,
    end,
  }
}

/** RFC 2046 §5.1.5 for a digest; else text, unless something was said that is no type: then nobody knows. */
function unsaidType(said: string, parent: Part | undefined): string {
  if (parent?.contentType === 'multipart/digest') return 'message/rfc822'
  return said === '' || said === 'text' ? 'text/plain' : 'application/octet-stream'
}

function boundaryOf(text: string, header: Header): string {
  const isUtf8 = header.fields.findLast(({ lowerName }) => lowerName === 'content-type')?.isUtf8
  return Buffer.from(text.trimEnd(), isUtf8 ? 'utf8' : 'latin1').toString('latin1')
}
