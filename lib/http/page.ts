import type { Context } from 'koa'
import type { App } from '../core/app/app.ts'
import { answerKept, type KeptBody } from './kept-body.ts'

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
  /** The name that was asked, in lower case and without a port. */
  readonly host: string
}

export interface PageAnswer {
  /** 200 unless said. */
  readonly status?: number
  /** text/html unless said. */
  readonly contentType?: string
  /** A kept one stays the same: browsers keep it, too, and ask whether it is still so. Nothing else is kept. */
  readonly body: string | KeptBody
  /** What the page may load besides nothing, as directives of a Content-Security-Policy. */
  readonly allows?: string
}

/** No page is shown inside another, loads what it does not say, or tells others its address, which may hold a secret. */
export async function answerPage(context: Context, page: PageAnswer): Promise<void> {
  const directives = [
    "default-src 'none'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
    "form-action 'self'",
    page.allows,
  ]
  context.set({
    'Content-Security-Policy': directives.filter(Boolean).join('; '),
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
  })
  context.type = page.contentType ?? 'text/html; charset=utf-8'
  if (typeof page.body !== 'string') {
    await answerKept(context, page.body)
    return
  }
  context.set('Cache-Control', 'no-store')
  context.status = page.status ?? 200
  context.body = page.body
}
