import type { Context } from 'koa'
import type { App } from '../core/app/app.ts'

/** Something for browsers, beside the operations: it needs no key and its refusals are pages too, where it has any. */
export interface Page {
  readonly method: 'get' | 'post'
  /** The whole path; it has no parameters. */
  readonly path: string
  /** What an address is told that asks too often; without it, it may ask as often as it likes. */
  tooMany?(app: App): PageAnswer
  handle(request: PageRequest): Promise<PageAnswer>
}

export interface PageRequest {
  readonly app: App
  readonly query: URLSearchParams
}

export interface PageAnswer {
  /** 200 unless said. */
  readonly status?: number
  /** text/html unless said. */
  readonly contentType?: string
  readonly body: string | Buffer
  /** Of content that stays the same: browsers keep it, and ask whether it is still so. Without it nothing is kept. */
  readonly etag?: string
  /** What the page may load besides nothing, as directives of a Content-Security-Policy. */
  readonly allows?: string
}

/** No page is shown inside another, loads what it does not say, or tells others its address, which may hold a secret. */
export function answerPage(context: Context, page: PageAnswer): void {
  const directives = [
    "default-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
    page.allows,
  ]
  context.set({
    'Content-Security-Policy': directives.filter(Boolean).join('; '),
    'Cache-Control': page.etag === undefined ? 'no-store' : 'no-cache',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  })
  context.status = page.status ?? 200
  context.type = page.contentType ?? 'text/html; charset=utf-8'
  if (page.etag !== undefined) {
    context.etag = page.etag
    if (context.fresh) {
      context.status = 304
      return
    }
  }
  context.body = page.body
}
