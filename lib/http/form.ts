import type { TObject, TSchema } from 'typebox'
import { limits } from '../base/limits.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { Contents } from './contents.ts'
import { scanJson } from './json-scan.ts'

/**
 * Makes a multipart/form-data body (RFC 7578) into the value that the same request has as JSON, for the same validation:
 * files become `{filename, contentType, content}` with their bytes in `contents`; lists are repeated fields or JSON;
 * booleans are `true` and `false`. What does not fit stays as it came, so that validation names it.
 * @throws Problem `invalid_request`
 */
export async function readForm(
  body: Buffer,
  contentType: string,
  schema: TObject,
  contents: Contents,
): Promise<Record<string, unknown>> {
  requireSmallParts(body, contentType)
  const form = await parse(body, contentType)
  const value: Record<string, unknown> = {}
  for (const name of new Set(form.keys())) {
    const entries = await Promise.all(form.getAll(name).map(entry => readEntry(entry, contents)))
    const read = readField(
      entries,
      Object.hasOwn(schema.properties, name) ? schema.properties[name] : undefined,
    )
    Object.defineProperty(value, name, { value: read, enumerable: true })
  }
  return value
}

const dash = 0x2d

/** Before anything is made of them: the parser takes as many parts as there are, and headers as long as they are. */
function requireSmallParts(body: Buffer, contentType: string): void {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? bare ?? ''
  // RFC 2046 §5.1.1
  if (boundary.length < 1 || boundary.length > 70)
    throw malformed('its boundary must have 1 to 70 characters')
  const delimiter = `--${boundary}`
  const { formPartHeaderBytes } = limits
  let count = 0
  for (let at = body.indexOf(delimiter); at >= 0; at = body.indexOf(delimiter, at + delimiter.length)) {
    count++
    if (count > limits.formParts) throw malformed(`it has more than ${limits.formParts} parts`)
    const header = body.subarray(at + delimiter.length, at + delimiter.length + formPartHeaderBytes)
    const isLast = header[0] === dash && header[1] === dash
    if (!isLast && !header.includes('\r\n\r\n')) {
      throw malformed(`a part has no end of its header within ${formPartHeaderBytes} bytes`)
    }
  }
}

async function parse(body: Buffer, contentType: string): Promise<FormData> {
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': contentType } }).formData()
  } catch (error) {
    const { cause } = error as Error
    throw malformed(cause instanceof Error ? cause.message : 'it can not be read')
  }
}

function malformed(what: string): Problem {
  return invalidRequest('body', `is not multipart/form-data: ${what}`)
}

async function readEntry(entry: string | File, contents: Contents): Promise<unknown> {
  if (typeof entry === 'string') return entry
  return {
    filename: entry.name,
    ...(entry.type === '' ? {} : { contentType: entry.type }),
    content: contents.keep(Buffer.from(await entry.arrayBuffer())),
  }
}

function readField(entries: readonly unknown[], schema: TSchema | undefined): unknown {
  const [first] = entries
  const types = typesOf(schema)
  if (types.includes('array')) {
    if (entries.length > 1) return entries
    const list = typeof first === 'string' ? readList(first) : undefined
    // One that may also stand alone does.
    return list ?? (types.includes('string') ? first : entries)
  }
  if (entries.length > 1) return entries
  if (types.includes('boolean') && (first === 'true' || first === 'false')) return first === 'true'
  return first
}

function readList(text: string): unknown[] | undefined {
  if (!text.startsWith('[')) return undefined
  try {
    scanJson(Buffer.from(text), false)
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
