import type { Content } from '../../blob/content.ts'
import type { ExtractedText } from './extract.ts'

/** Which attachment of which message is to be read, as plain data: it crosses into a thread. */
export interface TextRequest {
  /** The whole message. */
  readonly content: Content
  /** As readMessage lists them, from 0 on. */
  readonly index: number
}

/**
 * What the thread says, in this order: that all is loaded and the attachment will be read from now on; then its text
 * (undefined: the message has no such attachment), or why the bytes could not be had, which is no fault of theirs.
 */
export type TextAnswer =
  | { readonly kind: 'begun' }
  | { readonly kind: 'read'; readonly extracted: ExtractedText | undefined }
  | { readonly kind: 'failed'; readonly error: Error }
