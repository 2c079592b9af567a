import type { Reading, ReadingRequest } from './reading.ts'

/** What a reading thread is started with. */
export interface ThreadData {
  /** Our own name, in the results of authentication. */
  readonly hostname: string
  /** The domains whose ARC sets are believed (lib/mail/authentication/authenticator.ts). */
  readonly trustedSealers: readonly string[]
  /** As in lib/courier/dns.ts. */
  readonly dns: { readonly servers: readonly string[]; readonly timeoutMs: number }
  /** Int32Array, its elements by `places`: what the thread is at, to be seen from outside while it computes. */
  readonly places: SharedArrayBuffer
}

/** One message on its way to a reading thread. */
export interface Job {
  /** From 1 on. */
  readonly number: number
  readonly request: ReadingRequest
  /** Why its header alone is to be read; undefined: all of it is. */
  readonly headerAlone?: string | undefined
}

/** What comes back: the reading, or why the bytes could not be had, which is no fault of the message. */
export type Answer =
  | { readonly number: number; readonly reading: Reading }
  | { readonly number: number; readonly error: Error }
