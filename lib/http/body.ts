import { bodyParser } from '@koa/bodyparser'
import type { Context, Middleware } from 'koa'
import { Problem } from '../base/problem.ts'

/** Reads a JSON body of at most `bytes`. @throws Problem `payload_too_large`, `invalid_request`, `unsupported_media_type` */
export function jsonBody(bytes: number): Middleware {
  const parse = bodyParser({
    enableTypes: ['json'],
    jsonLimit: bytes,
    onError(error) {
      throw problemOf(error)
    },
  })
  return async (context, next) => {
    requireJson(context)
    await parse(context, next)
  }
}

/** A body of another type would be read as an empty one. */
function requireJson(context: Context): void {
  const hasBody = context.request.length !== 0 && context.request.get('content-type') !== ''
  if (hasBody && !context.is('application/json', '+json')) throw new Problem('unsupported_media_type')
}

function problemOf(error: Error): Error {
  const status = 'status' in error ? error.status : undefined
  if (status === 413) return new Problem('payload_too_large')
  if (status === 400 || error instanceof SyntaxError) {
    return new Problem('invalid_request', `The body is not JSON: ${error.message}.`, {
      details: [{ path: '', message: error.message }],
    })
  }
  if (status === 415) return new Problem('unsupported_media_type')
  return error
}
