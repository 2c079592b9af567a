import type { Context, Middleware } from 'koa'

/** Besides what every page may read: when to ask again, what was answered, and what a file is called. */
const exposed = 'Retry-After, ETag, Content-Disposition, Allow, WWW-Authenticate'
const methods = 'GET, HEAD, POST, PUT, PATCH, DELETE'
/** Authorization must be named (Fetch Standard, "CORS non-wildcard request-header name"); clients add others of their own. */
const headers = 'Authorization, *'
/** As long as browsers keep it. */
const maxAgeSeconds = 7200

/**
 * Lets pages of these origins ask in browsers (Fetch Standard, "CORS protocol") and answers what the browser asks before.
 * They are given nothing by it that anybody without a browser has not: keys travel in a header, and there are no cookies.
 * @param origins as http.cors_origins has them; `*` is all
 */
export function allowOrigins(origins: readonly string[]): Middleware {
  const areAllAllowed = origins.includes('*')
  const allowed = new Set(origins)

  function allowedOrigin(context: Context): string | undefined {
    if (areAllAllowed) return '*'
    // Another origin gets another answer; what is kept of one is not for the other. Nothing stands in the field before.
    context.res.setHeader('Vary', 'Origin')
    const origin = context.get('Origin')
    return allowed.has(origin) ? origin : undefined
  }

  return async (context, next) => {
    const origin = allowedOrigin(context)
    if (origin === undefined) return next()
    // Not by `set`, which takes several at once: each request passes here.
    context.res.setHeader('Access-Control-Allow-Origin', origin)
    if (!isPreflight(context)) {
      context.res.setHeader('Access-Control-Expose-Headers', exposed)
      return next()
    }
    context.set({
      'Access-Control-Allow-Methods': methods,
      'Access-Control-Allow-Headers': headers,
      'Access-Control-Max-Age': String(maxAgeSeconds),
    })
    context.status = 204
  }
}

/** What of it stands in an answer that is given before there is a request to speak of. @param origin its Origin, if it has one */
export function originHeaders(
  origins: readonly string[],
  origin: string | undefined,
): Record<string, string> {
  if (origins.includes('*')) return { 'Access-Control-Allow-Origin': '*' }
  if (origin === undefined || !origins.includes(origin)) return { Vary: 'Origin' }
  return { Vary: 'Origin', 'Access-Control-Allow-Origin': origin }
}

function isPreflight(context: Context): boolean {
  return (
    context.method === 'OPTIONS' &&
    context.get('Origin') !== '' &&
    context.get('Access-Control-Request-Method') !== ''
  )
}
