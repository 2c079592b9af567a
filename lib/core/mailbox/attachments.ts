import type { Readable } from 'node:stream'
import { sliceBytes } from '../../base/concurrency.ts'
import { inSlices } from '../../base/files.ts'
import { Problem } from '../../base/problem.ts'
import { filterActiveApiKeys } from '../../store/api-keys.ts'
import { findInbox } from '../../store/inboxes.ts'
import * as messages from '../../store/messages.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { App, Desk } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { getWholeMessage, noSuchMessage, signingSecret } from '../app/reach.ts'
import { createUrlSigner, isSignedUrl, type UrlSigner } from '../app/signed.ts'
import { rawOf } from './raws.ts'

/** An attachment as its message's row has it; the bytes are in the raw. */
export interface StoredAttachment {
  readonly filename: string
  readonly contentType: string
  readonly sizeBytes: number
}

/** An attachment and where its bytes are. */
export interface LinkedAttachment extends StoredAttachment {
  readonly url: string
}

/** What the attachments of a message are read from. */
type Attached = Pick<WholeMessage, 'id' | 'attachments'>

export function linkAttachments(row: Attached, urls: UrlSigner): LinkedAttachment[] {
  return readList<StoredAttachment>(row.attachments).map((attachment, index) => ({
    ...attachment,
    url: urls.attachmentUrl(row.id, index, attachment.filename),
  }))
}

/** The attachments of a message for what no key asked for, with URLs that are good for an hour from now. */
export async function listAttachments(app: Desk, row: Attached): Promise<LinkedAttachment[]> {
  if (row.attachments === '[]') return []
  return linkAttachments(row, createUrlSigner(app, await signingSecret(app, app.store.read), null))
}

/** Most lists are empty, and a page has hundreds of them. */
export function readList<Item>(json: string): Item[] {
  return json === '[]' ? [] : (JSON.parse(json) as Item[])
}

/** An attachment on its way out: what its message's row says of it, and its bytes. */
export interface OpenedAttachment extends StoredAttachment {
  readonly content: Readable
}

/** What the URL of an attachment says; of a draft's, `messageId` is the id of the attachment itself. */
export interface AttachmentUrl {
  readonly messageId: string
  readonly index: number
  readonly expires: string | undefined
  /** The id of the key that it was made for. */
  readonly key: string | undefined
  readonly signature: string | undefined
}

/** Whether an URL was signed here and is still good. @throws Problem `unauthorized` when it is not, and nobody asks */
export async function requireSigned(
  app: App,
  caller: Caller | undefined,
  url: AttachmentUrl,
): Promise<boolean> {
  const db = app.store.read
  const isOurs = isSignedUrl(app, await signingSecret(app, db), url)
  const isSigned = isOurs && (url.key === undefined || (await filterActiveApiKeys(db, [url.key])).length > 0)
  if (isSigned || caller) return isSigned
  throw new Problem(
    'unauthorized',
    'This URL is not signed, its hour is over, or its API key was revoked. Fetch the message for a new URL.',
  )
}

/**
 * Where the attachment of this name is, and an URL for it that is good for an hour. Of several of one name it is the first,
 * or the one at `index`.
 * @throws Problem `not_found`
 */
export async function findAttachmentByName(
  app: App,
  caller: Caller,
  messageId: string,
  { filename, index: asked }: NamedAttachment,
): Promise<{ readonly row: WholeMessage; readonly index: number; readonly url: string }> {
  const row = await getWholeMessage(app.store.read, caller, messageId)
  const names = readList<StoredAttachment>(row.attachments).map(attachment => attachment.filename)
  const index = asked ?? names.indexOf(filename)
  if (names[index] !== filename) throw noSuchAttachment()
  const urls = createUrlSigner(app, await signingSecret(app, app.store.read), caller.keyId)
  return { row, index, url: urls.attachmentUrl(row.id, index, filename) }
}

export interface NamedAttachment {
  readonly filename: string
  readonly index?: number | undefined
}

function noSuchAttachment(): Problem {
  return new Problem('not_found', 'The message has no such attachment.')
}

/**
 * The `index`-th attachment, read out of the raw: for a caller who reaches the message, or for whoever has an URL
 * that was signed here and is still good.
 * @throws Problem `not_found`; `unauthorized` without either
 */
export async function openMessageAttachment(
  app: App,
  caller: Caller | undefined,
  url: AttachmentUrl,
): Promise<OpenedAttachment> {
  const db = app.store.read
  const isSigned = await requireSigned(app, caller, url)
  const row = isSigned
    ? await messages.findWholeMessage(db, url.messageId)
    : await getWholeMessage(db, caller!, url.messageId)
  if (!row || !(await findInbox(db, row.inboxId))) throw noSuchMessage()
  const stored = (JSON.parse(row.attachments) as StoredAttachment[])[url.index]
  const content = stored && (await app.renderer.openAttachment(await rawOf(app, row), url.index, row.inboxId))
  if (!stored || !content) throw noSuchAttachment()
  return { ...stored, content: inSlices(content, sliceBytes) }
}
