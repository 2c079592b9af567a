import type { Lost } from './storage-fault.ts'

/** Which history of its cluster a server writes on: who is promoted begins a new one, with a higher number than all before it. */
export interface Timeline {
  /** The system identifier, which a primary and its standbys share. */
  readonly system: string
  readonly number: number
}

/** A server on which a process holds what it must hold to ask it. */
export interface Held {
  readonly url: string
  /** Undefined where the server does not say it. */
  readonly timeline?: Timeline | undefined
}

/** Which server a process may ask, by what it holds there, or why it may ask none. It crosses into other threads. */
export type HeldServer = Held | Lost
