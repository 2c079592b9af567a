import type { Pace } from '../base/concurrency.ts'
import { invalidRequest, type Problem } from '../base/problem.ts'

/** Parts of a form (recipients, attachments and fields), and the bytes of the header of each. */
const formParts = 400
const formPartHeaderBytes = 8 * 1024

/** A part of a form, as it stands in its body. */
export interface FormPart {
  /** One character a byte, without its last line end. */
  readonly header: string
  readonly content: Buffer
}

const headerEnd = '\r\n\r\n'
/** Bytes that are looked through at a stretch, and how often as costly as others: what looks like a delimiter is looked at again and again. */
const searchBytes = 256 * 1024
const searchCost = 4

/**
 * Splits a multipart body at its delimiters (RFC 2046 §5.1.1), without a copy of what stands between them.
 * @throws Problem `invalid_request` for what is no such body, has too many parts or too long headers
 */
export async function splitParts(body: Buffer, boundary: string, pace: Pace): Promise<FormPart[]> {
  const delimiter = Buffer.from(`\r\n--${boundary}`, 'latin1')
  const parts: FormPart[] = []
  // The first delimiter needs no line end before it.
  const isAtBegin = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  let at = isAtBegin ? delimiter.length - 2 : await endOf(body, delimiter, 0, pace)
  while (at >= 0 && body.toString('latin1', at, at + 2) !== '--') {
    if (parts.length >= formParts) throw malformed(`it has more than ${formParts} parts`)
    const start = body.toString('latin1', at, at + formPartHeaderBytes)
    const end = start.indexOf(headerEnd)
    if (!start.startsWith('\r\n') || end < 0) {
      throw malformed(`a part has no end of its header within ${formPartHeaderBytes} bytes`)
    }
    const from = at + end + headerEnd.length
    // What has no content may have no line end of its own.
    at = await endOf(body, delimiter, from - 2, pace)
    parts.push({
      header: start.slice(2, Math.max(2, end)),
      content: body.subarray(from, Math.max(from, at - delimiter.length)),
    })
  }
  if (at < 0) throw malformed('its last delimiter is missing')
  return parts
}

/** Where the next delimiter ends; less than 0 without one. */
async function endOf(body: Buffer, delimiter: Buffer, from: number, pace: Pace): Promise<number> {
  for (let at = from; at < body.length; at += searchBytes) {
    await pace(Math.min(searchBytes, body.length - at) * searchCost)
    const found = body.subarray(at, at + searchBytes + delimiter.length - 1).indexOf(delimiter)
    if (found >= 0) return at + found + delimiter.length
  }
  return -1
}

export function malformed(what: string): Problem {
  return invalidRequest('body', `is not multipart/form-data: ${what}`)
}

type Entry = readonly [name: string, entry: string | File]

/**
 * What the headers of the parts say, read as browsers' forms are (by the platform's own parser, of a form without contents).
 * @throws Problem `invalid_request`
 */
export async function readHeaders(parts: readonly FormPart[], boundary: string): Promise<Entry[]> {
  if (parts.some(({ header }) => /^content-transfer-encoding:\s*(?!7bit|8bit|binary)/im.test(header))) {
    throw malformed('a part is encoded, which forms do without (RFC 7578, section 4.7)')
  }
  const empty = parts.map(({ header }) => `--${boundary}\r\n${header}${headerEnd}\r\n`)
  const type = `multipart/form-data; boundary="${boundary}"`
  try {
    const bytes = new Uint8Array(Buffer.from(`${empty.join('')}--${boundary}--\r\n`, 'latin1'))
    const entries = [...(await new Response(bytes, { headers: { 'content-type': type } }).formData())]
    if (entries.length === parts.length) return entries
  } catch (error) {
    const { cause } = error as Error
    throw malformed(cause instanceof Error ? cause.message : 'it can not be read')
  }
  throw malformed('it can not be read')
}
