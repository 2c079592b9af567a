import { llmsOf } from '../api/index.ts'
import type { App } from '../core/app/app.ts'
import { docsPages } from './docs.ts'
import { forwardingPages } from './forwarding-page.ts'
import { homePage } from './home.ts'
import { type KeptBody, keepBody } from './kept-body.ts'
import { mtaStsPage } from './mta-sts-page.ts'
import type { Page } from './page.ts'

/** Anyone may ask, so it is made but once. */
const texts = new WeakMap<App, Promise<KeptBody>>()

/** The API for agents, where they look for it (llmstxt.org). */
const llmsPage: Page = {
  method: 'get',
  path: '/llms.txt',
  async handle({ app }) {
    const body = texts.get(app) ?? keepBody(llmsOf(app))
    texts.set(app, body)
    return { contentType: 'text/plain; charset=utf-8', body: await body }
  },
}

/** Everything that is served and is no operation. */
export const pages: readonly Page[] = [homePage, llmsPage, mtaStsPage, ...docsPages, ...forwardingPages]
