import { docsPages } from './docs.ts'
import { forwardingPages } from './forwarding-page.ts'
import { homePage } from './home.ts'
import { llmsPage } from './llms.ts'
import { mtaStsPage } from './mta-sts-page.ts'
import type { Page } from './page.ts'

/** Everything that is served and is no operation. */
export const pages: readonly Page[] = [homePage, llmsPage, mtaStsPage, ...docsPages, ...forwardingPages]
