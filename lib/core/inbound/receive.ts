import { limits } from '../../base/limits.ts'
import { Reply } from '../../base/reply.ts'
import { type Content, openContent, readContent, readStart, sizeOf } from '../../blob/content.ts'
import { countReceived, findHeaderFault, type Header, readHeader } from '../../mail/header/header.ts'
import { classify } from '../../mail/message/automatic.ts'
import { readMessage } from '../../mail/message/read.ts'
import type { Authentication } from '../../model/message.ts'
import type { App, Networked } from '../app/app.ts'
import { extractionColumn } from '../mailbox/extraction.ts'
import { dropFilesOf } from '../mailbox/raws.ts'
import { refuseLocalLoop } from '../outbound/loop.ts'
import { admit, recordRefused, rejectRefused } from './admission.ts'
import type { Arrival, Reception } from './arrival.ts'
import { recordReturned } from './bounces.ts'
import { readReturned } from './returned.ts'
import { scan } from './scan.ts'
import { judge, type Opinions } from './verdict.ts'
import { writeReception } from './write.ts'

/** A notification is known by the address that it came to, whatever its header says. */
const notification = { category: 'bounce', autoReplyable: false, reason: 'returned' } as const

/** What SPF, DKIM and DMARC say of mail from one of our own inboxes, which no network has touched. */
const ownMail: Authentication = { spf: 'pass', dkim: 'pass', dmarc: 'pass' }

/**
 * Takes a message in: authenticates, judges, parses, threads and stores it. When this resolves it is on the disk, and
 * only then may the peer be told 250.
 * @throws Reply when the peer is to be refused. All else that is thrown is a fault of ours: 451.
 */
export async function receive(app: Networked, arrival: Arrival): Promise<string[]> {
  const opinions = scan(app, arrival)
  const reception = await prepareReception(app, arrival, app.authenticator, opinions)
  try {
    const ids = await app.store.write(db => reception.write(db))
    app.log.info(
      {
        sessionId: arrival.sessionId,
        messageIds: ids,
        mailFrom: arrival.mailFrom,
        rcptTos: arrival.recipients.map(recipient => recipient.rcptTo),
        sizeBytes: sizeOf(arrival.content),
      },
      reception.whyDropped ?? 'message received',
    )
    return ids
  } catch (error) {
    if (arrival.content.kind === 'file') await dropFilesOf(app, error, [reception.rawId])
    throw error
  }
}

/**
 * Everything that needs no write. A large raw is moved to its place here, so that a row may point at it.
 * @param opinions what others say of it; asked for beside all else
 */
export async function prepareReception(
  app: App,
  arrival: Arrival,
  authenticator: Networked['authenticator'] | undefined,
  opinions?: Promise<Opinions>,
): Promise<Reception> {
  const header = await requireSoundHeader(arrival.content)
  const { authentication, isAligned } = await authenticate(app, arrival, authenticator)
  const parsed = readMessage(await readContent(arrival.content))
  const from = parsed.from?.address ?? null
  const classified = classify({ header, mailFrom: arrival.mailFrom, from, subject: parsed.subject })
  const isBounce = classified.category === 'bounce'
  const returned = await readReturned(app, arrival.recipients, { header, parsed, isBounce })
  const { author } = parsed
  const judged = returned.isNotification
    ? judge(notification, authentication, undefined, await opinions)
    : judge(classified, authentication, author, await opinions)
  if (parsed.problems.length > 0) {
    app.log.info({ sessionId: arrival.sessionId, problems: parsed.problems }, 'message read with difficulty')
  }
  if ('fault' in author) {
    app.log.info(
      { sessionId: arrival.sessionId, fault: author.fault },
      'it is not sure who wrote the message',
    )
  }
  const rawId = arrival.rawId ?? app.ids.next()
  const recipients = arrival.recipients.filter(recipient => !returned.consumed.has(recipient))
  const admission = await admit(app, recipients, { author, from, mailFrom: arrival.mailFrom, isAligned })
  // What became of our own mail is noted whoever tells it; nobody reads a refusal of that.
  const isTold = returned.isNotification || returned.complaints.length > 0
  if (!isTold) await rejectRefused(app, admission)
  // Dropped: what is kept is that it came, and what it told.
  if (admission.admitted.length === 0) {
    return {
      rawId,
      whyDropped: recipients.length > 0 ? 'message refused by sender rules' : 'notification about a forward',
      async write(db) {
        await recordRefused(app, db, admission)
        await recordReturned(app, db, returned)
        return []
      },
    }
  }
  if (arrival.peer.kind === 'local') await refuseLocalLoop(app, admission.admitted, parsed)
  if (arrival.rawId === undefined && arrival.content.kind === 'file') {
    await app.disk.keep(rawId, arrival.content.path)
  }
  const extracted = extractionColumn(parsed)
  return {
    rawId,
    async write(db) {
      await recordRefused(app, db, admission)
      await recordReturned(app, db, returned)
      const admitted = { ...arrival, recipients: admission.admitted }
      const read = { arrival: admitted, rawId, parsed, extracted, authentication, judged, returned }
      return writeReception(app, db, read)
    },
  }
}

async function authenticate(
  app: App,
  { peer, mailFrom, content }: Arrival,
  authenticator: Networked['authenticator'] | undefined,
): Promise<{ authentication: Authentication; isAligned: boolean }> {
  if (peer.kind === 'local') return { authentication: ownMail, isAligned: true }
  if (!app.config.authentication.check || !authenticator) {
    return { authentication: { spf: 'none', dkim: 'none', dmarc: 'none' }, isAligned: false }
  }
  const { spf, dkim, dmarc, aligned } = await authenticator.authenticate({
    raw: content.kind === 'memory' ? content.bytes : openContent(content),
    remoteAddress: peer.remoteAddress,
    helo: peer.helo,
    mailFrom,
  })
  return { authentication: { spf, dkim, dmarc }, isAligned: aligned }
}

/** @throws Reply for a header that is too large (RFC 5321 §4.5.3.1.9 allows a limit) or that has gone in circles */
async function requireSoundHeader(content: Content): Promise<Header> {
  const start = await readStart(content, limits.headerBytes)
  const fault = findHeaderFault(start)
  if (fault) throw new Reply(552, '5.3.4', `The message header is too large: ${fault}`)
  const header = readHeader(start)
  if (countReceived(header) > limits.receivedFields) {
    throw new Reply(554, '5.4.6', 'The message has gone through too many hosts; it is in a loop')
  }
  return header
}
