import { openContent, sizeOf } from '../../blob/content.ts'
import type { Networked } from '../app/app.ts'
import type { Arrival } from './arrival.ts'
import type { Opinions } from './verdict.ts'

/** Shows a message from outside to the scanners. Never rejects: what they do not say in time holds up nobody's mail. */
export async function scan(
  app: Networked,
  { content, peer, mailFrom, recipients, sessionId }: Arrival,
): Promise<Opinions> {
  if (peer.kind === 'local') return {}
  const { virus, spamAction } = await app.scanner.scan({
    sizeBytes: sizeOf(content),
    open: () => openContent(content),
    remoteAddress: peer.remoteAddress,
    helo: peer.helo,
    mailFrom,
    rcptTos: recipients.map(({ rcptTo }) => rcptTo),
    sessionId,
  })
  const opinions = {
    ...(virus !== undefined && { virus }),
    ...(spamAction !== undefined && { spamAction }),
    ...(peer.dnsList !== undefined && { dnsList: peer.dnsList }),
  }
  if (Object.keys(opinions).length > 0) app.log.info({ sessionId, ...opinions }, 'spoken against')
  return opinions
}
