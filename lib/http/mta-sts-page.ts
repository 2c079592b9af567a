import { findOwnStsPolicy } from '../core/domains/own-sts.ts'
import type { Page } from './page.ts'

/** The MTA-STS policy of a domain here, at the name that it has for it (RFC 8461 §3.3). */
export const mtaStsPage: Page = {
  method: 'get',
  path: '/.well-known/mta-sts.txt',
  async handle({ app, host }) {
    const policy = await findOwnStsPolicy(app, host)
    const contentType = 'text/plain; charset=utf-8'
    return policy === undefined
      ? { status: 404, contentType, body: 'There is no MTA-STS policy at this name.\n' }
      : { contentType, body: policy }
  },
}
