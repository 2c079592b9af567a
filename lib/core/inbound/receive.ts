import { networkOf } from '../../base/network.ts'
import { Reply } from '../../base/reply.ts'
import { type Content, readStart, sha256Of, sizeOf } from '../../blob/content.ts'
import { domainOf } from '../../mail/address/address.ts'
import type { AuthenticatedMessage } from '../../mail/authentication/authenticator.ts'
import { type Author, namedAuthors, readAuthor } from '../../mail/header/author.ts'
import {
  countReceived,
  findHeaderFault,
  type Header,
  headerBytes,
  readHeader,
} from '../../mail/header/header.ts'
import type { Mailbox } from '../../mail/header/mailbox.ts'
import { reportRecipients } from '../../mail/report/part.ts'
import type { Reading } from '../../reading/reading.ts'
import { refuseLocalLoop } from '../outbound/loop.ts'
import { admit, type Refused } from './admission.ts'
import type { Arrival, Reception } from './arrival.ts'
import { deferUnknown } from './deferral.ts'
import type { Receiver } from './receiver.ts'
import { mayReport, readReturned } from './returned.ts'
import { gatherOpinions } from './scan.ts'
import { judge, type Opinions } from './verdict.ts'

/** Mailboxes that From may name: each is looked for in the rules that block. */
export const namedAuthorsMax = 100
/** Received fields after which a message is a loop (RFC 5321 §6.3). */
export const receivedFields = 100

/** A notification is known by the address that it came to, whatever its header says. */
const notification = {
  category: 'bounce',
  autoReplyable: false,
  autoReplyReason: 'bounce',
  reason: 'returned',
} as const

/** How what sender rules let in nowhere is counted. */
const dropped = { verdict: 'dropped', category: 'none' } as const

/**
 * Takes a message in: authenticates, judges, parses, threads and stores it. When this resolves it is on the disk, and
 * only then may the peer be told 250.
 * @throws Reply when the peer is to be refused. All else that is thrown is a fault of ours: 451.
 */
export async function receive(receiver: Receiver, arrival: Arrival): Promise<string[]> {
  const opinions = gatherOpinions(receiver, arrival, receiver.main.askScanners)
  const reception = await prepareReception(receiver, arrival, opinions)
  const ids = await receiver.main.write(reception)
  measure(receiver, arrival, reception)
  receiver.log.info(
    {
      sessionId: arrival.sessionId,
      ...(arrival.peer.kind === 'smtp' && { remoteAddress: arrival.peer.remoteAddress }),
      messageIds: ids,
      mailFrom: arrival.mailFrom,
      rcptTos: arrival.recipients.map(recipient => recipient.rcptTo),
      sizeBytes: sizeOf(arrival.content),
    },
    'nothing' in reception.becomes ? reception.becomes.nothing : 'message received',
  )
  return ids
}

function measure({ meter }: Receiver, { content, peer }: Arrival, { becomes }: Reception): void {
  const { verdict, category } = 'nothing' in becomes ? dropped : becomes.judged
  meter.count('messages_received_total', verdict, category)
  meter.observe('message_received_bytes', sizeOf(content))
  // Its version, without the cipher.
  const tls = peer.kind === 'smtp' ? peer.tls?.split(' ', 1)[0] : undefined
  meter.count('messages_received_tls_total', tls ?? 'none')
}

/**
 * Everything that needs no write. A large raw is moved to its place here, so that a row may point at it.
 * @param opinions what others say of it; asked for beside all else
 */
export async function prepareReception(
  app: Receiver,
  arrival: Arrival,
  opinions?: Promise<Opinions>,
): Promise<Reception> {
  const header = await requireSoundHeader(arrival.content)
  const author = readAuthor(header)
  const named = namedAuthors(header, author)
  if (named.length > namedAuthorsMax)
    throw new Reply(554, '5.6.0', `From names more than ${namedAuthorsMax} mailboxes; name who wrote it`)
  const reading = await read(app, arrival)
  const { message, classified } = reading
  const found = findAuthentication(app, arrival, author, reading)
  requireSameAuthor(found.judged, message.author)
  requireSameAuthor(found.judged, author)
  const returned = await readReturned(app, arrival.recipients, reading)
  // What became of our own mail is noted whoever tells it; nobody reads a refusal of that.
  // Who has a reverse-path of ours proves nothing to whoever else the message is for.
  const isBack = arrival.recipients.every(({ deliveryId }) => deliveryId !== undefined)
  const isNotification = returned.isNotification && isBack
  const isComplaint = returned.complaints.length > 0 && arrival.recipients.every(one => mayReport(app, one))
  const isTold = isNotification || isComplaint
  if (!isTold) await refuseUnproven(app, arrival, header, found)
  const { spf, dkim, dmarc } = found
  const authentication = { spf, dkim, dmarc }
  const judged = judge(
    isNotification ? notification : classified,
    {
      authentication,
      policy: found.policy,
      isDenied: found.isDenied,
      isExcused: found.isExcused,
      // That it came to a reverse-path of ours proves a notification, and bounces name nobody rightly.
      isAuthorSure: isNotification || found.judged !== undefined,
      isAligned: found.aligned,
      requiresProof: app.config.authentication.check,
      isWhole: reading.isWhole,
    },
    (await opinions) ?? {},
    app.config.authentication.dmarc_reject !== 'off',
  )
  if (message.problems.length > 0) {
    app.log.info({ sessionId: arrival.sessionId, problems: message.problems }, 'message read with difficulty')
  }
  if ('fault' in author) {
    app.log.info(
      { sessionId: arrival.sessionId, fault: author.fault },
      'it is not sure who wrote the message',
    )
  }
  const rawId = arrival.rawId ?? app.ids.next()
  const recipients = arrival.recipients.filter(recipient => !returned.consumed.has(recipient))
  const admission = await admit(app, recipients, {
    named,
    judged: found.judged?.address ?? null,
    mailFrom: arrival.mailFrom,
    isAligned: found.aligned,
  })
  const { admitted, refused } = admission
  if (!isTold && admitted.length === 0) await rejectRefused(app, refused)
  // Dropped: what is kept is that it came, and what it told.
  if (admitted.length === 0) {
    const nothing = recipients.length > 0 ? 'message refused by sender rules' : 'notification about a forward'
    return { rawId, refused, returned, becomes: { nothing } }
  }
  if (arrival.peer.kind === 'local') await refuseLocalLoop(app, admitted, message)
  if (arrival.rawId === undefined && arrival.content.kind === 'file') {
    const { path, sizeBytes, sha256 } = arrival.content
    await app.blobs.keep({ id: rawId, sizeBytes, sha256 }, path)
  }
  return {
    rawId,
    refused,
    returned,
    becomes: {
      arrival: { ...arrival, recipients: admitted },
      sha256: sha256Of(arrival.content),
      reading,
      authentication,
      fromProven: isProven(app, arrival, found),
      results: found.header,
      judged,
    },
  }
}

/**
 * With policy.refuse_with = "reject", a message that no recipient's rules let in is refused to the peer's face.
 * @throws Reply 550 5.7.1
 */
async function rejectRefused({ config, main }: Receiver, refused: readonly Refused[]): Promise<void> {
  if (config.policy.refuse_with !== 'reject') return
  await main.recordRefused(refused)
  throw new Reply(550, '5.7.1', 'The recipient does not take mail from this sender')
}

/** In a thread, where what the message holds can do no harm. @throws Reply 451 when too much is being read */
function read(app: Receiver, { content, mailFrom, peer, recipients }: Arrival): Promise<Reading> {
  const isAuthenticated = peer.kind === 'smtp' && app.config.authentication.check
  return app.mailReader.read(
    {
      content,
      mailFrom,
      peer: isAuthenticated ? { remoteAddress: peer.remoteAddress, helo: peer.helo } : null,
      mayReport: recipients.some(recipient => mayReport(app, recipient)),
      deliveredTo: recipients.flatMap(({ deliveredTo }) => deliveredTo ?? []).slice(0, reportRecipients),
    },
    peer.kind === 'smtp' ? networkOf(peer.remoteAddress) : 'local',
  )
}

/** What is known of who sent a message; without a header where nothing was checked. */
type Found = Pick<
  AuthenticatedMessage,
  'judged' | 'spf' | 'dkim' | 'dmarc' | 'policy' | 'aligned' | 'isDenied' | 'isExcused' | 'isUnknown'
> & { readonly header: string | null }

function findAuthentication(
  app: Receiver,
  { peer }: Arrival,
  author: Author,
  { authentication }: Reading,
): Found {
  if (authentication) return authentication
  const judged = 'mailbox' in author ? author.mailbox : undefined
  const unchecked = {
    judged,
    policy: undefined,
    isDenied: false,
    isExcused: false,
    isUnknown: false,
    header: null,
  } as const
  // Mail from one of our own inboxes, which no network has touched.
  if (peer.kind === 'local') {
    return { ...unchecked, spf: 'pass', dkim: 'pass', dmarc: 'pass', aligned: true }
  }
  if (!app.config.authentication.check) {
    return { ...unchecked, spf: 'none', dkim: 'none', dmarc: judged ? 'none' : 'permerror', aligned: false }
  }
  // What could not be found out, because the reading failed, proves nothing.
  const dmarc = judged ? 'temperror' : 'permerror'
  return { ...unchecked, spf: 'temperror', dkim: 'temperror', dmarc, aligned: false }
}

/** Whether the domain in From is proven: null where authentication is off, so that nobody takes "not checked" for "forged". */
function isProven(app: Receiver, { peer }: Arrival, { aligned }: Found): boolean | null {
  return peer.kind === 'smtp' && !app.config.authentication.check ? null : aligned
}

/** Who is judged is who is shown; that they differ is a fault of ours, and the message is not taken. */
function requireSameAuthor(judged: Mailbox | undefined, author: Author): void {
  const shown = 'mailbox' in author ? author.mailbox.address : undefined
  if (judged?.address !== shown) throw new Error(`${judged?.address} was judged and ${shown} would be shown`)
}

/** @throws Reply 550 5.7.26 as the domain in From asks, 451 4.7.26 when DNS does not say what decides */
async function refuseUnproven(app: Receiver, arrival: Arrival, header: Header, found: Found): Promise<void> {
  const { peer, mailFrom } = arrival
  if (peer.kind === 'local') return
  if (found.isUnknown) {
    const of = { remoteAddress: peer.remoteAddress, mailFrom, header }
    await deferUnknown(app, of, app.main.noteDeferral)
  }
  if (app.config.authentication.dmarc_reject !== 'refuse' || !found.judged) return
  if (found.dmarc !== 'fail' || found.policy !== 'reject' || found.isExcused) return
  const domain = domainOf(found.judged.address)
  throw new Reply(
    550,
    '5.7.26',
    `${domain} asks (DMARC, p=reject) that mail be refused which is not proven to be from it: send it through the servers of ${domain}, or sign it with its DKIM key`,
  )
}

/** @throws Reply for a header that is too large (RFC 5321 §4.5.3.1.9 allows a limit) or that has gone in circles */
async function requireSoundHeader(content: Content): Promise<Header> {
  const start = await readStart(content, headerBytes)
  const fault = findHeaderFault(start)
  if (fault) throw new Reply(552, '5.3.4', `The message header is too large: ${fault}`)
  const header = readHeader(start)
  if (countReceived(header) > receivedFields) {
    throw new Reply(554, '5.4.6', 'The message has gone through too many hosts; it is in a loop')
  }
  return header
}
