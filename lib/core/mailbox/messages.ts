import type { Scope } from '../../base/ids.ts'
import { listedAddresses } from '../../mail/header/mailbox.ts'
import type { Direction, Message } from '../../model/message.ts'
import type { Listed, Page } from '../../model/page.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { countInScope } from '../../store/inboxes.ts'
import { type ListedMessageRow, listedTextLength, takeTurnIfLarge } from '../../store/listed-messages.ts'
import * as messages from '../../store/messages.ts'
import type { SearchFilter } from '../../store/search/filter.ts'
import { searchMessages } from '../../store/search/search.ts'
import type { Desk } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getInboxRow, getWholeMessage, signingSecret } from '../app/reach.ts'
import { createUrlSigner, type UrlSigner } from '../app/signed.ts'
import { attachmentsPresenter } from './attachment-text.ts'
import { readList } from './attachments.ts'
import { extractionOf } from './extraction.ts'
import { isSearch, readFilter } from './search-filter.ts'
import { autoReplyReasonOf, isFromProven, readAuthentication, warningsOf } from './trust.ts'

async function present(
  row: ListedMessageRow,
  urls: UrlSigner,
  attachmentsOf: (row: ListedMessageRow) => Message['attachments'],
): Promise<Message> {
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
    to: listedTo(row),
    headerTo: row.direction === 'inbound' ? row.headerTo : null,
    deliveryRole: row.deliveryRole as Message['deliveryRole'],
    replyTo: row.isCut && row.replyTo ? wholeAddresses(row, row.replyTo).join(', ') : row.replyTo,
    cc: readList<string>(row.cc),
    addressNames:
      row.addressNames === null || row.direction === 'outbound'
        ? null
        : (JSON.parse(row.addressNames) as Record<string, string>),
    bcc: readList<string>(row.bcc),
    subject: row.subject,
    bodyText: row.bodyText,
    bodyHtml: row.bodyHtml,
    ...(row.isCut && { bodyTruncated: true as const }),
    attachments: attachmentsOf(row),
    rawUrl: row.rawId === null ? null : urls.rawUrl(row.id),
    status: row.status as Message['status'],
    category: row.category as Message['category'],
    autoReplyable: row.autoReplyable === 1,
    autoReplyReason: autoReplyReasonOf(row),
    verdict: row.verdict as Message['verdict'],
    authentication: readAuthentication(row.authentication),
    fromProven: isFromProven(row),
    isNewInThread: row.isNewInThread === 1,
    warnings: warningsOf(row),
    ...(await extractionOf(row)),
    parseProblems: readList<string>(row.parseProblems),
    createdAt: row.createdAt,
  }
}

function listedTo(row: ListedMessageRow): string[] {
  if (row.headerTo === null) return row.direction === 'inbound' ? [] : [row.toAddr]
  return wholeAddresses(row, row.headerTo)
}

/** The addresses of a field of a row that may be cut within the last one. */
function wholeAddresses({ isCut }: ListedMessageRow, field: string): string[] {
  const addresses = listedAddresses(field)
  return isCut && field.length >= listedTextLength ? addresses.slice(0, -1) : addresses
}

/** Rows as the API shows them to a caller, with URLs that are good for an hour from now. */
export async function presentMessages(
  app: Desk,
  { keyId }: Caller,
  rows: readonly ListedMessageRow[],
): Promise<Message[]> {
  if (rows.length === 0) return []
  const urls = createUrlSigner(app, await signingSecret(app, app.store.read), keyId)
  const attachmentsOf = await attachmentsPresenter(app, rows, urls)
  return Promise.all(rows.map(row => present(row, urls, attachmentsOf)))
}

export async function getMessage(app: Desk, caller: Caller, id: string): Promise<Message> {
  const db = app.store.read
  await takeTurnIfLarge(db, id)
  const [message] = await presentMessages(app, caller, [await getWholeMessage(db, caller, id)])
  return message!
}

export interface MessageFilter extends Omit<SearchFilter, 'direction'> {
  readonly direction: Direction | undefined
}

/** Newest first. @throws Problem `not_found`, `invalid_request` */
export async function listInboxMessages(
  app: Desk,
  caller: Caller,
  inboxId: string,
  filter: MessageFilter,
  page: Page,
): Promise<Listed<Message>> {
  const db = app.store.read
  const inbox = await getInboxRow(db, caller, inboxId)
  const { rows, total } = isSearch(filter)
    ? await findMessages(db, { podId: inbox.podId, inboxId: inbox.id }, readFilter(filter), page)
    : await messages.listInboxMessages(db, inbox, filter, page)
  return { rows: await presentMessages(app, caller, rows), total }
}

/** Of all inboxes that the caller reaches, newest first. @throws Problem `invalid_request` */
export async function listMessages(
  app: Desk,
  caller: Caller,
  filter: MessageFilter,
  page: Page,
): Promise<Listed<Message>> {
  const db = app.store.read
  const known = isSearch(filter) ? undefined : await countMessages(db, caller, filter.direction)
  const { rows, total } = await findMessages(db, caller, readFilter(filter), page, known)
  return { rows: await presentMessages(app, caller, rows), total }
}

/** The rows of what a search finds, as lists show them. Parameters as of `searchMessages`. */
async function findMessages(
  db: Db,
  scope: Scope,
  filter: SearchFilter,
  page: Page,
  known?: number,
): Promise<Listed<ListedMessageRow>> {
  const { rows: ids, total } = await searchMessages(db, scope, filter, page, known)
  const rows = new Map((await messages.listShownMessages(db, ids)).map(row => [row.id, row]))
  return { rows: ids.flatMap(id => rows.get(id) ?? []), total }
}

async function countMessages(db: Db, caller: Caller, direction: Direction | undefined): Promise<number> {
  const { inbound, outbound } = await countInScope(db, caller)
  return (direction === 'outbound' ? 0 : inbound) + (direction === 'inbound' ? 0 : outbound)
}
