import { openContent, sizeOf } from '../../blob/content.ts'
import type { Findings, Scanner } from '../../courier/scanner/scanner.ts'
import type { Reads } from '../app/app.ts'
import type { Arrival } from './arrival.ts'
import type { Opinions } from './verdict.ts'

/** Shows a message to the scanners. Never rejects: what they do not say in time holds up nobody's mail. */
export function askScanners(
  scanner: Scanner,
  { content, peer, mailFrom, recipients, sessionId }: Arrival,
): Promise<Findings> {
  if (peer.kind === 'local') return Promise.resolve({})
  return scanner.scan({
    sizeBytes: sizeOf(content),
    open: () => openContent(content),
    remoteAddress: peer.remoteAddress,
    helo: peer.helo,
    mailFrom,
    rcptTos: recipients.map(({ rcptTo }) => rcptTo),
    sessionId,
  })
}

/**
 * What others say of a message from outside: the scanners, and the DNS list that has its peer.
 * @param ask `askScanners`, where they are asked
 */
export async function gatherOpinions(
  app: Pick<Reads, 'log'>,
  arrival: Arrival,
  ask: (arrival: Arrival) => Promise<Findings>,
): Promise<Opinions> {
  const { peer, sessionId } = arrival
  if (peer.kind === 'local') return {}
  const { virus, spamAction } = await ask(arrival)
  const opinions = {
    ...(virus !== undefined && { virus }),
    ...(spamAction !== undefined && { spamAction }),
    ...(peer.dnsList !== undefined && { dnsList: peer.dnsList }),
  }
  if (Object.keys(opinions).length > 0) app.log.info({ sessionId, ...opinions }, 'spoken against')
  return opinions
}
