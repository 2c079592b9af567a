import { type AttachmentText, type Message, parsedTextLength } from '../../model/message.ts'
import type { ExtractedText } from '../../reading/attachment/extract.ts'
import { extractionMethodOf } from '../../reading/attachment/method.ts'
import {
  findAttachmentText,
  insertAttachmentText,
  listAttachmentTexts,
} from '../../store/attachment-texts.ts'
import { holdsNothing } from '../../store/dialect/held.ts'
import type { WholeMessage } from '../../store/tables.ts'
import type { App, Desk } from '../app/app.ts'
import type { Caller } from '../app/caller.ts'
import { noSuchMessage } from '../app/reach.ts'
import type { UrlSigner } from '../app/signed.ts'
import {
  findAttachmentByName,
  linkAttachments,
  type NamedAttachment,
  readList,
  type StoredAttachment,
} from './attachments.ts'
import { rawOf } from './raws.ts'

/** Attachments of one message of which a text is shown. */
const parsedTexts = 100

/** The texts that are being made, so that who asks for the same meanwhile waits for it. */
const underWay = new WeakMap<App['store'], Map<string, Promise<ExtractedText>>>()

/**
 * The text of an attachment: made when it is first asked for, and kept. One that can't be read is not tried again.
 * @throws Problem `not_found`; `unavailable` when too many are being read
 */
export async function getAttachmentText(
  app: App,
  caller: Caller,
  messageId: string,
  named: NamedAttachment,
): Promise<AttachmentText> {
  const { row, index } = await findAttachmentByName(app, caller, messageId, named)
  const { filename, contentType } = readList<StoredAttachment>(row.attachments)[index]!
  const about = { messageId: row.id, inboxId: row.inboxId, filename, contentType }
  const extractionMethod = extractionMethodOf({ filename, contentType })
  if (extractionMethod === 'unsupported') return { ...about, extractionMethod, text: null }
  const kept = await findAttachmentText(app.store.read, row.readingId, index)
  if (kept) return { ...about, ...presentText(kept) }
  return { ...about, ...(await makeOnce(app, caller, row, index)) }
}

async function makeOnce(app: App, caller: Caller, row: WholeMessage, index: number): Promise<ExtractedText> {
  const making = underWay.get(app.store) ?? new Map<string, Promise<ExtractedText>>()
  underWay.set(app.store, making)
  const name = `${row.readingId} ${index}`
  const known = making.get(name)
  if (known) return known
  const made = make(app, caller, row, index).finally(() => making.delete(name))
  making.set(name, made)
  return made
}

async function make(app: App, caller: Caller, row: WholeMessage, index: number): Promise<ExtractedText> {
  const raw = await rawOf(app, row)
  const extracted = await app.textReader.read({ content: raw, index }, caller.podId ?? '')
  if (!extracted) throw noSuchMessage()
  const { readingId } = row
  const { extractionMethod, text: content } = extracted
  const createdAt = app.clock.now().toISOString()
  const isKept = await app.store.writeHolding(holdsNothing, db =>
    insertAttachmentText(db, { readingId, index, extractionMethod, content, createdAt }),
  )
  // It was deleted meanwhile.
  if (!isKept) throw noSuchMessage()
  return extracted
}

function presentText(row: { extractionMethod: string; content: string | null }): ExtractedText {
  return { extractionMethod: row.extractionMethod as ExtractedText['extractionMethod'], text: row.content }
}

type Attachments = Message['attachments']

/** Gives what a message shows of its attachments: the beginnings of their texts, where those were made. */
export async function attachmentsPresenter(
  app: Desk,
  rows: readonly WholeMessage[],
  urls: UrlSigner,
): Promise<(row: WholeMessage) => Attachments> {
  const ids = new Set(rows.flatMap(row => (row.attachments === '[]' ? [] : row.readingId)))
  const listed =
    ids.size === 0 ? [] : await listAttachmentTexts(app.store.read, [...ids], parsedTextLength, parsedTexts)
  const texts = new Map(listed.map(one => [`${one.readingId} ${one.index}`, presentText(one)]))
  return row =>
    linkAttachments(row, urls).map((attachment, index) => {
      const known = texts.get(`${row.readingId} ${index}`)
      const extractionMethod = known?.extractionMethod ?? extractionMethodOf(attachment)
      return { ...attachment, extractionMethod, parsedText: known?.text ?? null }
    })
}
