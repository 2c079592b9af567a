import { Readable } from 'node:stream'
import { type Content, readStart } from '../../blob/content.ts'
import type { Cargo } from '../../courier/smtp/courier.ts'
import { domainOf, normaliseAddress } from '../../mail/address/address.ts'
import { isRewritten, rewriteSender } from '../../mail/address/srs.ts'
import { readOwnResults } from '../../mail/authentication/results.ts'
import { fieldValues, headerBytes, readHeader } from '../../mail/header/header.ts'
import { wireNeedsOf } from '../../mail/message/wire-needs.ts'
import { sealArc, sealedPart } from '../../mail/signature/arc-seal.ts'
import { hashMessage } from '../../mail/signature/message.ts'
import { type CarriedMessage, listDeliveries } from '../../store/deliveries.ts'
import type { Db, WriteDb } from '../../store/dialect/dialect.ts'
import { findInbox } from '../../store/inboxes.ts'
import { findMessage } from '../../store/messages.ts'
import { findSuppression } from '../../store/suppressions.ts'
import type { DeliveryRow, InboxRow, MessageRow } from '../../store/tables.ts'
import type { Endpoint } from '../../store/webhook-deliveries.ts'
import type { App } from '../app/app.ts'
import { signingSecret } from '../app/reach.ts'
import { dkimSigner } from '../domains/keys.ts'
import { findHolder, isDeliveredHere, isOpenTo, isUsable } from '../domains/usable.ts'
import { type Traced, traceContent } from '../mailbox/traced.ts'
import { putDeliveries } from '../outbound/composing.ts'

/**
 * Puts a copy of a message that has just come into the queue, in its write, where the inbox forwards such mail. Nobody
 * is told of it: the queue looks by itself every second.
 * @param rcptTo the address that it came to
 * @param endpoint the webhook that is told of it
 */
export async function forwardReceived(
  app: App,
  db: WriteDb,
  inbox: InboxRow,
  message: MessageRow,
  { rcptTo }: { readonly rcptTo: string },
  endpoint: Endpoint | undefined,
): Promise<void> {
  // What answers a copy by itself would be answered for ever.
  if (isRewritten(rcptTo)) return
  if (operatorOf(app, inbox) !== undefined) return writeCopy(app, db, inbox, message)
  if (inbox.forwardWhen === 'needs_human' && message.autoReplyable === 1) return
  if (inbox.forwardWhen === 'webhook_failed') {
    const event = { type: 'message.received', podId: inbox.podId, inboxId: inbox.id }
    if (endpoint || (await app.readers.isRead(db, event))) return
  }
  await writeCopy(app, db, inbox, message)
}

/**
 * Forwards a message whose webhook has not taken it, where its inbox wants that; in the write that gives the webhook
 * up. A message is forwarded once, however often its event is told again.
 */
export async function forwardIfUndelivered(app: App, db: WriteDb, messageId: string): Promise<void> {
  const message = await findMessage(db, messageId)
  const inbox = message && (await findInbox(db, message.inboxId))
  if (message?.direction !== 'inbound' || inbox?.forwardWhen !== 'webhook_failed') return
  const copies = await listDeliveries(db, messageId)
  if (copies.length === 0) await writeCopy(app, db, inbox, message)
}

/** Where all mail of postmaster and abuse goes, when the operator says so: without asking, and whatever comes back of it. */
function operatorOf(app: App, inbox: InboxRow): string | undefined {
  return inbox.isSystem === 1 ? app.config.operator_address : undefined
}

function activeTarget({ forwardTo, forwardStatus }: InboxRow): string | undefined {
  return forwardTo !== null && forwardStatus === 'active' ? forwardTo : undefined
}

/**
 * Never spam, nor bulk mail. A bounce is forwarded, without a reverse-path as it came (RFC 5321 §4.5.5), so that nothing
 * can come back of it.
 */
async function writeCopy(app: App, db: WriteDb, inbox: InboxRow, message: MessageRow): Promise<void> {
  const operator = operatorOf(app, inbox)
  const forwardTo = operator ?? activeTarget(inbox)
  if (forwardTo === undefined || message.verdict === 'malicious') return
  const isUnwanted = message.verdict !== 'clean' || message.category === 'marketing'
  // Complaints of spam have spam in them, and must reach whom they are for.
  if (isUnwanted && operator === undefined) return
  const now = app.clock.now()
  if (await findSuppression(db, [forwardTo], { podId: inbox.podId, now: now.toISOString() })) {
    app.log.info({ messageId: message.id, inboxId: inbox.id }, 'not forwarded: the address is suppressed')
    return
  }
  const id = app.ids.next()
  const mailFrom =
    message.mailFrom === '' ? null : await reversePath(app, db, inbox, id, message.mailFrom, now)
  const copy = { id, messageId: message.id, recipient: forwardTo, purpose: 'forward', mailFrom }
  await putDeliveries(app, db, inbox, [copy], now)
}

/** A reverse-path of this delivery alone: a bounce that comes to it tells which copy it is about. */
async function reversePath(app: App, db: Db, inbox: InboxRow, deliveryId: string, sender: string, at: Date) {
  return rewriteSender({
    secret: await signingSecret(app, db),
    purpose: deliveryId,
    sender,
    domain: domainOf(inbox.address),
    at,
  })
}

/**
 * The copy that a delivery of purpose `forward` carries: the original, byte for byte, so that its signatures hold (less
 * what in it claims to be results of ours), below the fields that tell its way and our ARC set; or why it is not to be
 * carried.
 * @param original the raw of the message
 */
export async function forwardContent(
  app: App,
  delivery: DeliveryRow,
  message: CarriedMessage,
  original: Content,
): Promise<Cargo | { readonly refusal: string }> {
  const db = app.store.read
  const inbox = await findInbox(db, message.inboxId)
  const targets = inbox ? [operatorOf(app, inbox), activeTarget(inbox)] : []
  if (!inbox || !targets.includes(delivery.recipient)) {
    return { refusal: 'not forwarded: forwarding to this address has ended' }
  }
  // It would be taken in without a network, as if it were mail of our own.
  if (await isDeliveredHere(app, db, delivery.recipient)) {
    return { refusal: 'not forwarded: the address is one of this server by now' }
  }
  if (await wasHere(inbox, original)) {
    return { refusal: 'not forwarded: it came through this inbox before' }
  }
  const copy = await traceContent(traceOf(inbox, delivery, message), original, app.config.hostname)
  const seal = Buffer.from(await sealCopy(app, inbox, message, copy))
  return {
    sizeBytes: seal.length + copy.sizeBytes,
    ...(await wireNeedsOf(copy.open())),
    raw: () => Readable.from(joined(seal, copy), { objectMode: false }),
  }
}

async function* joined(seal: Buffer, copy: Traced): AsyncGenerator<Buffer> {
  if (seal.length > 0) yield seal
  yield* copy.open() as AsyncIterable<Buffer>
}

/**
 * Our ARC set for a copy (RFC 8617), by the key of the inbox's domain: it tells the next host what we found, for of SPF
 * nothing is left there. Empty when nothing was checked, or when nobody could check ours.
 */
async function sealCopy(app: App, inbox: InboxRow, { trace }: CarriedMessage, copy: Traced): Promise<string> {
  const found = readOwnResults(trace)
  const domain = await findHolder(app, app.store.read, domainOf(inbox.address))
  if (!found || !domain || !isUsable(app, domain) || !isOpenTo(domain, inbox)) return ''
  const message = await hashMessage(copy.open(), () => [sealedPart])
  return sealArc(message, found, await dkimSigner(app, domain, app.clock.now()))
}

/** As Gmail and Postfix write it. Return-Path is for the last host alone to add (RFC 5321 §4.4). */
function traceOf({ address }: InboxRow, { recipient }: DeliveryRow, { trace }: CarriedMessage): string {
  return (
    `X-Forwarded-To: ${recipient}\r\nX-Forwarded-For: ${address} ${recipient}\r\nDelivered-To: ${address}\r\n` +
    trace.replace(/^Return-Path:.*\r\n/, '')
  )
}

/** Whether the message says that it was delivered to this inbox, or forwarded from it, already. */
async function wasHere({ address }: InboxRow, original: Content): Promise<boolean> {
  const header = readHeader(await readStart(original, headerBytes))
  return [
    ...fieldValues(header, 'delivered-to'),
    // First who forwarded it, then to whom.
    ...fieldValues(header, 'x-forwarded-for').map(value => value.split(/\s+/)[0]!),
  ].some(value => normaliseAddress(value) === address)
}
