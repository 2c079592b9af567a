import { isUtf8 } from 'node:buffer'
import type { Context } from 'koa'
import type { TObject } from 'typebox'
import type { Operation } from '../api/operation.ts'
import { createPace } from '../base/concurrency.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import { decodeJsonBase64 } from './base64.ts'
import { type BodyBounds, readBytes } from './bytes.ts'
import { Contents } from './contents.ts'
import { readForm } from './form.ts'
import { scanJson } from './json-scan.ts'

const bytesUnlessSaid = 1024 * 1024

export interface RequestBody {
  /** What was sent, not yet validated. */
  readonly value: unknown
  /** What belongs into it once it is. */
  readonly contents: Contents
  /** Whether all that is wrong with it may be told: a large one could have very many faults. */
  readonly isSmall: boolean
}

export type ReadBody = (context: Context, bounds: BodyBounds) => Promise<RequestBody>

/**
 * Reads the body as it is declared: JSON, or a form where that is taken too.
 * @throws (the reader) Problem `payload_too_large`, `invalid_request`, `unsupported_media_type`; as `MemoryHold.grow`
 */
export function bodyReader(one: Operation & { readonly body: TObject }): ReadBody {
  const { formBytes, bodyBytes = bytesUnlessSaid } = one
  // What may come as a form has attachments.
  const readJson = jsonReader(bodyBytes, formBytes !== undefined)
  if (formBytes === undefined) return readJson
  return async (context, bounds) => {
    if (!context.is('multipart/form-data')) return readJson(context, bounds)
    const bytes = await readBytes(context.req, formBytes, bounds)
    const contents = new Contents()
    const value = await readForm(bytes, context.get('content-type'), one.body, contents)
    return { value, contents, isSmall: bytes.length <= bytesUnlessSaid }
  }
}

function jsonReader(bytes: number, takesContents: boolean): ReadBody {
  return async (context, bounds) => {
    requireJson(context)
    const body = await readBytes(context.req, bytes, bounds)
    if (body.length === 0) throw invalidRequest('', 'A body is required; {} where nothing is to be said')
    const contents = new Contents()
    const { value, length } = await parse(body, takesContents, contents)
    if (takesContents) nameContents(value)
    return { value, contents, isSmall: length <= bytesUnlessSaid }
  }
}

/** A body of another type, or of none, would be read as an empty one. */
function requireJson(context: Context): void {
  const type = context.is('application/json', '+json')
  const hasBody = type !== null && context.request.length !== 0
  if (hasBody && type === false) throw new Problem('unsupported_media_type')
}

/** Large contents are decoded from their bytes, so that what is parsed is small. */
async function parse(
  body: Buffer,
  takesContents: boolean,
  contents: Contents,
): Promise<{ readonly value: unknown; readonly length: number }> {
  const pace = createPace()
  const spans = await scanJson(body, takesContents, pace)
  try {
    let text = ''
    let at = 0
    for (const { start, end } of spans) {
      text += textOf(body.subarray(at, start))
      text += contents.keep(await decodeJsonBase64(body.subarray(start, end), pace))
      at = end
    }
    text += textOf(body.subarray(at))
    await pace(text.length)
    return { value: JSON.parse(text), length: text.length }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw invalidRequest('body', `is not JSON: ${error.message}`)
  }
}

/** JSON is in UTF-8 (RFC 8259 §8.1): with other bytes replaced, something would be kept and sent that nobody wrote. */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw invalidRequest('body', 'is not in UTF-8, which JSON must be in')
  return bytes.toString('utf8')
}

/** An attachment may say `data` for `content`; from here on it is `content`. One that is null is not there. */
function nameContents(value: unknown): void {
  if (!isObject(value) || !Array.isArray(value.attachments)) return
  for (const attachment of value.attachments as unknown[]) {
    if (!isObject(attachment)) continue
    for (const name of ['content', 'data'])
      if (Object.hasOwn(attachment, name) && attachment[name] === null) delete attachment[name]
    if (!Object.hasOwn(attachment, 'data') || Object.hasOwn(attachment, 'content')) continue
    attachment.content = attachment.data
    delete attachment.data
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
