import type { Lost } from './storage-fault.ts'

/** Which server a process may ask, by what it holds there: its URL, or why it may ask none. It crosses into other threads. */
export type HeldServer = { readonly url: string } | Lost
