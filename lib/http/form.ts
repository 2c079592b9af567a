import type { TObject, TSchema } from 'typebox'
import { formTextBytes } from '../api/sending.ts'
import { createPace, type Pace } from '../base/concurrency.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { Contents } from './contents.ts'
import { scanJson } from './json-scan.ts'

/**
 * Makes a multipart/form-data body (RFC 7578) into the value that the same request has as JSON, for the same validation:
 * files become `{filename, contentType, content}` with their bytes in `contents`; lists are repeated fields or JSON;
 * booleans are `true` and `false`. What does not fit stays as it came, so that validation names it.
 * @throws Problem `invalid_request`; `payload_too_large` for more text than `formTextBytes`
 */
export async function readForm(
  body: Buffer,
  contentType: string,
  schema: TObject,
  contents: Contents,
): Promise<Record<string, unknown>> {
  const pace = createPace()
  const boundary = boundaryOf(contentType)
  const parts = await splitParts(body, boundary, pace)
  const entries = await readHeaders(parts, boundary)
  const read = createEntryReader(contents, pace)
  const fields = new Map<string, unknown[]>()
  for (const [index, [name, entry]] of entries.entries()) {
    const value = await read(entry, parts[index]!.content)
    fields.set(name, [...(fields.get(name) ?? []), value])
  }
  const value: Record<string, unknown> = {}
  for (const [name, values] of fields) {
    const schemaOfField = Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined
    const field = await readField(values, schemaOfField, pace)
    Object.defineProperty(value, name, { value: field, enumerable: true })
  }
  return value
}

/** RFC 2046 §5.1.1 */
function boundaryOf(contentType: string): string {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare ?? ''
  if (boundary.length < 1 || boundary.length > 70)
    throw malformed('its boundary must have 1 to 70 characters')
  return boundary
}
/** Gives the value of a part: a text, or a file whose bytes are kept in `contents`. */
function createEntryReader(contents: Contents, pace: Pace) {
  const decoder = new TextDecoder()
  let textBytes = 0
  return async (entry: string | File, content: Buffer): Promise<unknown> => {
    if (typeof entry !== 'string') {
      const contentType = entry.type === '' ? {} : { contentType: entry.type }
      return { filename: entry.name, ...contentType, content: contents.keep(content) }
    }
    textBytes += content.length
    if (textBytes > formTextBytes) {
      const message = `The fields of a form, without its files, have at most ${formTextBytes} bytes in all.`
      throw new Problem('payload_too_large', message)
    }
    await pace(content.length)
    return decoder.decode(content)
  }
}

async function readField(
  entries: readonly unknown[],
  schema: TSchema | undefined,
  pace: Pace,
): Promise<unknown> {
  const [first] = entries
  const types = typesOf(schema)
  if (types.includes('array')) {
    if (entries.length > 1) return entries
    const list = typeof first === 'string' ? await readList(first, pace) : undefined
    // One that may also stand alone does.
    return list ?? (types.includes('string') ? first : entries)
  }
  if (entries.length > 1) return entries
  if (types.includes('boolean') && (first === 'true' || first === 'false')) return first === 'true'
  return first
}

async function readList(text: string, pace: Pace): Promise<unknown[] | undefined> {
  if (!text.startsWith('[')) return undefined
  try {
    await scanJson(Buffer.from(text), false, pace)
    await pace(text.length)
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : undefined
  } catch (error) {
    if (error instanceof Problem) throw error
    return undefined
  }
}

function typesOf(schema: object | undefined): unknown[] {
  if (!schema) return []
  const own = 'type' in schema ? schema.type : []
  const among = 'anyOf' in schema && Array.isArray(schema.anyOf) ? schema.anyOf.flatMap(typesOf) : []
  return [...(Array.isArray(own) ? own : [own]), ...among]
}

/** Parts of a form (recipients, attachments and fields), and the bytes of the header of each. */
const formParts = 400
const formPartHeaderBytes = 8 * 1024

/** A part of a form, as it stands in its body. */
interface FormPart {
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
async function splitParts(body: Buffer, boundary: string, pace: Pace): Promise<FormPart[]> {
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

function malformed(what: string): Problem {
  return invalidRequest('body', `is not multipart/form-data: ${what}`)
}

type Entry = readonly [name: string, entry: string | File]

/**
 * What the headers of the parts say, read as browsers' forms are (by the platform's own parser, of a form without contents).
 * @throws Problem `invalid_request`
 */
async function readHeaders(parts: readonly FormPart[], boundary: string): Promise<Entry[]> {
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
