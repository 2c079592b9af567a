import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'
import type { TObject } from 'typebox'
import type { Operation } from '../api/operation.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import { readForm } from './form.ts'

export const bodyBytesUnlessSaid = 1024 * 1024

/** Reads the body as it is declared: JSON, or a form where that is taken too. @throws Problem as `jsonBody` and `readForm` */
export function operationBody(one: Operation & { readonly body: TObject }): Middleware {
  const readJson = jsonBody(one.bodyBytes ?? bodyBytesUnlessSaid)
  const { formBytes } = one
  if (formBytes === undefined) return readJson
  return async (context, next) => {
    if (context.is('multipart/form-data') === false || context.is('multipart/form-data') === null) {
      return readJson(context, next)
    }
    context.request.body = await readForm(context.req, context.get('content-type'), one.body, formBytes)
    await next()
  }
}

/** Reads a JSON body of at most `bytes`. @throws Problem `payload_too_large`, `invalid_request`, `unsupported_media_type` */
function jsonBody(bytes: number): Middleware {
  const parse = bodyParser({
    enableTypes: ['json'],
    jsonLimit: bytes,
    // What is none was refused before; by itself the parser passes over a type such as application/merge-patch+json.
    detectJSON: () => true,
    onError(error, context) {
      // What is left of the body is read past, or the connection would stand still; Node bounds how long it may take.
      context.req.unpipe()
      context.req.resume()
      throw problemOf(error)
    },
  })
  return async (context, next) => {
    requireJson(context)
    await parse(context, async () => {})
    if (!context.request.rawBody) {
      throw invalidRequest('', 'A body is required; {} where nothing is to be said')
    }
    await next()
  }
}

/** A body of another type, or of none, would be read as an empty one. */
function requireJson(context: Context): void {
  const type = context.is('application/json', '+json')
  const hasBody = type !== null && context.request.length !== 0
  if (hasBody && type === false) throw new Problem('unsupported_media_type')
}

function problemOf(error: Error): Error {
  const status = 'status' in error ? error.status : undefined
  if (status === 413) return new Problem('payload_too_large')
  if (status === 400 || error instanceof SyntaxError) {
    return invalidRequest('body', `is not JSON: ${error.message}`)
  }
  if (status === 415) return new Problem('unsupported_media_type')
  // What zlib says of a body that is not compressed as Content-Encoding says, and the system of one that breaks off.
  if ('code' in error) return invalidRequest('body', 'can not be read to its end')
  return error
}
