import { v7 } from 'uuid'

/** Makes ids. They come in through App, so that a test can foretell them. */
export interface Ids {
  /** A UUID version 7 (RFC 9562 §5.7): ordered by time, and within one millisecond by a counter. */
  next(): string
}

export const systemIds: Ids = { next: () => v7() }

const uuidForm = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether `text` has the form of a UUID; what has not can't be the id of anything (and is answered 404, never 500). */
export function isId(text: string): boolean {
  return uuidForm.test(text)
}
