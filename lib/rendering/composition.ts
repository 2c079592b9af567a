import { attachmentType } from '../mail/compose/attachment.ts'
import { type BodyFormat, composeBody } from '../mail/compose/body.ts'
import { relaxedBodyHash } from '../mail/compose/canonical.ts'
import { composeMessage, type MessageParts } from '../mail/compose/compose.ts'
import { bodyOf, type DkimSigner, dkimField } from '../mail/compose/dkim.ts'
import type { ForwardedMessage } from '../mail/compose/forward.ts'
import type { Body, QuotedMessage } from '../mail/compose/quote.ts'

/** What a message that is sent is made of, as plain data: it crosses into a thread. */
export interface Composition {
  readonly parts: Omit<MessageParts, 'text' | 'html'>
  readonly text: string
  readonly html: string | undefined
  /** What `text` is; `auto`: HTML if it looks like HTML and there is no `html`. */
  readonly format: BodyFormat
  /** What stands below it as a quote; null for nothing. */
  readonly quoted: QuotedMessage | null
  /** What stands below it as passed on; null for nothing. */
  readonly forwarded: ForwardedMessage | null
  readonly signer: DkimSigner
}

/** The message, and what its row is made of. */
export interface Composed {
  readonly raw: Buffer
  readonly rfcMessageId: string
  /** The DKIM-Signature fields, which stand before `raw`. */
  readonly signature: Buffer
  readonly body: Body
  /** Of each attachment, as its part says it. */
  readonly contentTypes: readonly string[]
}

/** Composes the message and signs it: all of a send that grows with what it is made of. */
export async function compose({
  parts,
  text,
  html,
  format,
  quoted,
  forwarded,
  signer,
}: Composition): Promise<Composed> {
  const body = composeBody({ text, html, format }, quoted, forwarded)
  const { raw, rfcMessageId } = await composeMessage({ ...parts, ...body })
  return {
    raw,
    rfcMessageId,
    signature: await dkimField(raw, await relaxedBodyHash(bodyOf(raw)), signer),
    body,
    contentTypes: parts.attachments.map(({ contentType, content }) => attachmentType(contentType, content)),
  }
}

/** Roughly the bytes that composing works on. */
export function workOf({ parts, text, html, quoted, forwarded }: Composition): number {
  const attached = parts.attachments.reduce((sum, { content }) => sum + content.length, 0)
  return attached + text.length + (html?.length ?? 0) + lengthOf(quoted) + lengthOf(forwarded)
}

function lengthOf(other: Pick<QuotedMessage, 'text' | 'html'> | null): number {
  return other ? other.text.length + (other.html?.length ?? 0) : 0
}
