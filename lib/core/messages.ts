import type { Readable } from 'node:stream'
import { isId } from '../base/ids.ts'
import { Problem } from '../base/problem.ts'
import { type Content, openContent, sizeOf } from '../blob/content.ts'
import { openAttachment } from '../mail/parse.ts'
import type { Delivery, Direction, Message } from '../model/message.ts'
import type { Listed, Page } from '../model/page.ts'
import { findAccount } from '../store/account.ts'
import { listDeliveries } from '../store/deliveries.ts'
import type { Db } from '../store/dialect.ts'
import { countInScope, findInbox } from '../store/inboxes.ts'
import * as messages from '../store/messages.ts'
import { findRaw } from '../store/raws.ts'
import { type SearchFilter, searchMessages } from '../store/search.ts'
import type { DeliveryRow, MessageRow } from '../store/tables.ts'
import type { App } from './app.ts'
import { createUrlSigner, isSignedUrl, type UrlSigner } from './attachment-url.ts'
import { type Caller, reachesInbox } from './caller.ts'
import { extractionOf } from './extraction.ts'
import { getInboxRow } from './inboxes.ts'
import { isSearch, readFilter } from './search-filter.ts'

/** An attachment as its message's row has it; the bytes are in the raw. */
export interface StoredAttachment {
  readonly filename: string
  readonly contentType: string
  readonly sizeBytes: number
}

function present(row: MessageRow, urls: UrlSigner): Message {
  return {
    id: row.id,
    inboxId: row.inboxId,
    threadId: row.threadId,
    direction: row.direction as Direction,
    rfcMessageId: row.rfcMessageId,
    inReplyTo: row.inReplyTo,
    references: readList<string>(row.references),
    fromAddr: row.fromAddr,
    toAddr: row.toAddr,
    headerTo: row.headerTo,
    deliveryRole: row.deliveryRole as Message['deliveryRole'],
    replyTo: row.replyTo,
    cc: readList<string>(row.cc),
    addressNames: row.addressNames === null ? null : (JSON.parse(row.addressNames) as Record<string, string>),
    bcc: readList<string>(row.bcc),
    subject: row.subject,
    bodyText: row.bodyText,
    bodyHtml: row.bodyHtml,
    attachments: presentAttachments(row, urls),
    rawUrl: row.rawId === null ? null : urls.rawUrl(row.id),
    status: row.status as Message['status'],
    category: row.category as Message['category'],
    autoReplyable: row.autoReplyable === 1,
    verdict: row.verdict as Message['verdict'],
    authentication: readAuthentication(row.authentication),
    ...extractionOf(row),
    createdAt: row.createdAt,
  }
}

/** Each result that a row has had: three checks of seven outcomes, so there are few. */
const authentications = new Map<string, Message['authentication']>()

function readAuthentication(json: string): Message['authentication'] {
  let read = authentications.get(json)
  if (!read) {
    read = JSON.parse(json) as Message['authentication']
    authentications.set(json, read)
  }
  return read
}

function presentAttachments(row: MessageRow, urls: UrlSigner): Message['attachments'] {
  return readList<StoredAttachment>(row.attachments).map((attachment, index) => ({
    ...attachment,
    url: urls.attachmentUrl(row.id, index, attachment.filename),
  }))
}

/** The attachments of a message, with URLs that are good for an hour from now. */
export async function listAttachments(app: App, row: MessageRow): Promise<Message['attachments']> {
  if (row.attachments === '[]') return []
  return presentAttachments(row, createUrlSigner(app, await signingSecret(app)))
}

/** Most lists are empty, and a page has hundreds of them. */
export function readList<Item>(json: string): Item[] {
  return json === '[]' ? [] : (JSON.parse(json) as Item[])
}

/** Rows as the API shows them, with URLs that are good for an hour from now. */
export async function presentMessages(app: App, rows: readonly MessageRow[]): Promise<Message[]> {
  if (rows.length === 0) return []
  const urls = createUrlSigner(app, await signingSecret(app))
  return rows.map(row => present(row, urls))
}

async function signingSecret(app: App): Promise<string> {
  const account = await findAccount(app.store.read)
  if (!account) throw new Error('there is no account row')
  return account.signingSecret
}

/** The message, if it and its inbox are there and the caller reaches them. @throws Problem `not_found` */
export async function getMessageRow(db: Db, caller: Caller, id: string): Promise<MessageRow> {
  const row = isId(id) ? await messages.findMessage(db, id.toLowerCase()) : undefined
  const inbox = row && (await findInbox(db, row.inboxId))
  if (!row || !inbox || !reachesInbox(caller, inbox)) throw noSuchMessage()
  return row
}

function noSuchMessage(): Problem {
  return new Problem('not_found', 'There is no such message.')
}

export async function getMessage(app: App, caller: Caller, id: string): Promise<Message> {
  const [message] = await presentMessages(app, [await getMessageRow(app.store.read, caller, id)])
  return message!
}

export interface MessageFilter extends Omit<SearchFilter, 'direction'> {
  readonly direction: Direction | undefined
}

/** Newest first. @throws Problem `not_found`, `invalid_request` */
export async function listInboxMessages(
  app: App,
  caller: Caller,
  inboxId: string,
  filter: MessageFilter,
  page: Page,
): Promise<Listed<Message>> {
  const db = app.store.read
  const inbox = await getInboxRow(db, caller, inboxId)
  const { rows, total } = isSearch(filter)
    ? await searchMessages(db, { podId: inbox.podId, inboxId: inbox.id }, readFilter(filter), page)
    : await messages.listInboxMessages(db, inbox, filter, page)
  return { rows: await presentMessages(app, rows), total }
}

/** Of all inboxes that the caller reaches, newest first. @throws Problem `invalid_request` */
export async function listMessages(
  app: App,
  caller: Caller,
  filter: MessageFilter,
  page: Page,
): Promise<Listed<Message>> {
  const db = app.store.read
  const known = isSearch(filter) ? undefined : await countMessages(db, caller, filter.direction)
  const { rows, total } = await searchMessages(db, caller, readFilter(filter), page, known)
  return { rows: await presentMessages(app, rows), total }
}

async function countMessages(db: Db, caller: Caller, direction: Direction | undefined): Promise<number> {
  const { inbound, outbound } = await countInScope(db, caller)
  return (direction === 'outbound' ? 0 : inbound) + (direction === 'inbound' ? 0 : outbound)
}

/** One for each recipient, in the order of to, cc and bcc; of an inbound message, the copies that were forwarded. @throws Problem `not_found` */
export async function listMessageDeliveries(app: App, caller: Caller, id: string): Promise<Delivery[]> {
  const row = await getMessageRow(app.store.read, caller, id)
  return (await listDeliveries(app.store.read, row.id)).map(presentDelivery)
}

function presentDelivery(row: DeliveryRow): Delivery {
  const { messageId: _messageId, mailFrom: _mailFrom, captured, state, purpose, ...rest } = row
  return {
    ...rest,
    state: state as Delivery['state'],
    purpose: purpose as Delivery['purpose'],
    captured: captured === 1,
  }
}

/** The bytes of a raw row, wherever they are kept. */
export async function findRawContent(app: App, rawId: string): Promise<Content | undefined> {
  const row = await findRaw(app.store.read, rawId)
  if (!row) return undefined
  return row.content === null ? app.disk.find(row.id) : { kind: 'memory', bytes: row.content }
}

/** The original message, byte for byte as it crossed the wire. @throws Problem `not_found` */
export async function openRaw(
  app: App,
  caller: Caller,
  id: string,
): Promise<{ sizeBytes: number; content: Readable }> {
  const content = await rawOf(app, await getMessageRow(app.store.read, caller, id))
  return { sizeBytes: sizeOf(content), content: openContent(content) }
}

async function rawOf(app: App, row: MessageRow): Promise<Content> {
  const content = row.rawId === null ? undefined : await findRawContent(app, row.rawId)
  if (!content) throw new Problem('not_found', 'The original bytes of this message were not kept.')
  return content
}

/** An attachment on its way out: what its message's row says of it, and its bytes. */
export interface OpenedAttachment extends StoredAttachment {
  readonly content: Readable
}

/**
 * The `index`-th attachment, read out of the raw: for a caller who reaches the message, or for whoever has an URL
 * that was signed here and is still good.
 * @throws Problem `not_found`; `unauthorized` without either
 */
export async function openMessageAttachment(
  app: App,
  caller: Caller | undefined,
  url: { messageId: string; index: number; expires: string | undefined; signature: string | undefined },
): Promise<OpenedAttachment> {
  const db = app.store.read
  const isSigned = isSignedUrl(app, await signingSecret(app), url)
  if (!isSigned && !caller) {
    throw new Problem(
      'unauthorized',
      'This URL is not signed, or its hour is over; fetch the message for a fresh one.',
    )
  }
  const row = isSigned
    ? await messages.findMessage(db, url.messageId)
    : await getMessageRow(db, caller!, url.messageId)
  if (!row || !(await findInbox(db, row.inboxId))) throw noSuchMessage()
  const stored = (JSON.parse(row.attachments) as StoredAttachment[])[url.index]
  const opened = stored && (await openAttachment(openContent(await rawOf(app, row)), url.index))
  if (!stored || !opened) throw new Problem('not_found', 'The message has no such attachment.')
  return { ...stored, content: opened.content }
}
