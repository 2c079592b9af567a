import type { Readable } from 'node:stream'
import { inSlices } from '../../base/chunks.ts'
import { limits } from '../../base/limits.ts'
import { Problem } from '../../base/problem.ts'
import type { Message } from '../../model/message.ts'
import { findInbox } from '../../store/inboxes.ts'
import * as messages from '../../store/messages.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { App } from '../app/app.ts'
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

export function presentAttachments(row: WholeMessage, urls: UrlSigner): Message['attachments'] {
  return readList<StoredAttachment>(row.attachments).map((attachment, index) => ({
    ...attachment,
    url: urls.attachmentUrl(row.id, index, attachment.filename),
  }))
}

/** The attachments of a message, with URLs that are good for an hour from now. */
export async function listAttachments(app: App, row: WholeMessage): Promise<Message['attachments']> {
  if (row.attachments === '[]') return []
  return presentAttachments(row, createUrlSigner(app, await signingSecret(app, app.store.read)))
}

/** Most lists are empty, and a page has hundreds of them. */
export function readList<Item>(json: string): Item[] {
  return json === '[]' ? [] : (JSON.parse(json) as Item[])
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
  const isSigned = isSignedUrl(app, await signingSecret(app, app.store.read), url)
  if (!isSigned && !caller) {
    throw new Problem(
      'unauthorized',
      'This URL is not signed, or its hour is over; fetch the message for a fresh one.',
    )
  }
  const row = isSigned
    ? await messages.findWholeMessage(db, url.messageId)
    : await getWholeMessage(db, caller!, url.messageId)
  if (!row || !(await findInbox(db, row.inboxId))) throw noSuchMessage()
  const stored = (JSON.parse(row.attachments) as StoredAttachment[])[url.index]
  const content = stored && (await app.renderer.openAttachment(await rawOf(app, row), url.index, row.inboxId))
  if (!stored || !content) throw new Problem('not_found', 'The message has no such attachment.')
  return { ...stored, content: inSlices(content, limits.sliceBytes) }
}
