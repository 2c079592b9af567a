import { Buffer } from 'node:buffer'
import { isMarkedAsUntransferable } from 'node:worker_threads'
import { type Content, readContent } from '../blob/content.ts'
import { openAttachment, openAttachments } from '../mail/message/read.ts'
import { type Composed, type Composition, compose } from './composition.ts'
import { type Accepted, acceptSubmitted, type Submitted } from './submitted.ts'

/** What is made in the thread, as plain data. */
export type Work =
  | { readonly kind: 'message'; readonly composition: Composition }
  | { readonly kind: 'submitted'; readonly submitted: Submitted }
  | { readonly kind: 'attachment'; readonly raw: Content; readonly index: number }
  | { readonly kind: 'attachments'; readonly raw: Content }

/** What comes of each kind of work. */
export interface Made {
  readonly message: Composed
  readonly submitted: Accepted
  /** The bytes of the attachment; undefined when there is none. */
  readonly attachment: Buffer | undefined
  /** The bytes of all attachments. */
  readonly attachments: readonly Buffer[]
}

/** One work that is asked of the thread, and what comes of it. */
export interface Asked {
  readonly id: number
  readonly work: Work
}
export type Answer = { readonly id: number } & (
  | { readonly made: Made[keyof Made] }
  | { readonly error: Error }
)

export async function perform(work: Work): Promise<Made[keyof Made]> {
  if (work.kind === 'message') return compose(work.composition)
  if (work.kind === 'submitted') return acceptSubmitted(work.submitted)
  if (work.kind === 'attachments') return openAttachments(await readContent(work.raw))
  return openAttachment(await readContent(work.raw), work.index)?.content
}

/** What is large of it goes over into the other thread, and is here no more; the rest is copied. */
export function transferOf(value: unknown): ArrayBuffer[] {
  return [...new Set(buffersIn(value))].filter(
    // The pool of small buffers stays, which is a little larger than it says it is.
    buffer => buffer.byteLength > Buffer.poolSize && !isMarkedAsUntransferable(buffer),
  )
}

function buffersIn(value: unknown): ArrayBuffer[] {
  if (value instanceof Uint8Array) return value.buffer instanceof ArrayBuffer ? [value.buffer] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(buffersIn) : []
}

/** The same with Buffers: what crossed between threads are Uint8Arrays. */
export function withBuffers<Value>(value: Value): Value {
  if (value instanceof Uint8Array) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength) as Value & Buffer
  }
  if (Array.isArray(value)) return value.map(withBuffers) as Value & unknown[]
  if (typeof value !== 'object' || value === null || value instanceof Date || value instanceof Error)
    return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, withBuffers(inner)]),
  ) as Value & object
}
