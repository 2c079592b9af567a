import { v7 } from 'uuid'

/** Makes ids. They come in through App, so that a test can foretell them. */
export interface Ids {
  /** A UUID version 7 (RFC 9562 §5.7): ordered by time, and within one millisecond by a counter. */
  next(): string
}

export const systemIds: Ids = { next: () => v7() }

/** The id that follows `id` directly in the order of ids. */
export function idAfter(id: string): string {
  const hex = id.replaceAll('-', '')
  // The last 62 bits count up; they never run out, because v7 fills them with chance and leaves room.
  const next = (BigInt(`0x${hex}`) + 1n).toString(16).padStart(32, '0')
  return next.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether `text` has the form of a UUID; what has not can't be the id of anything (and is answered 404, never 500). */
export function isId(text: string): boolean {
  return uuidForm.test(text)
}
