import type { TObject, TSchema } from 'typebox'
import { formTextBytes } from '../api/sending.ts'
import { createPace, type Pace } from '../base/concurrency.ts'
import { Problem } from '../base/problem.ts'
import type { Contents } from './contents.ts'
import { malformed, readHeaders, splitParts } from './form-parts.ts'
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
