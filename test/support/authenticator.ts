import type { Readable } from 'node:stream'
import type { Dns } from '../../lib/base/network.ts'
import { systemClock } from '../../lib/base/time.ts'
import {
  type AuthenticatedMessage,
  createAuthenticator,
} from '../../lib/mail/authentication/authenticator.ts'
import { readAuthor } from '../../lib/mail/header/author.ts'
import { readHeader } from '../../lib/mail/header/header.ts'

export interface TestMessage {
  readonly raw: Buffer
  /** The same bytes, to be read instead of `raw`. */
  readonly stream?: Readable
  readonly remoteAddress: string
  readonly helo: string
  readonly mailFrom: string
}

/** An authenticator that asks this DNS; whom it judges is whom From names, as reception has it. */
export function testAuthenticator(dns: Dns, trustedSealers: readonly string[] = [], clock = systemClock) {
  const { authenticate } = createAuthenticator({ dns, clock, mta: 'mx.example.org', trustedSealers })
  return {
    authenticate({ raw, stream, ...session }: TestMessage): Promise<AuthenticatedMessage> {
      return authenticate({ ...session, raw: stream ?? raw, author: readAuthor(readHeader(raw)) })
    },
  }
}
