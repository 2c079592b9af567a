import type { Scope } from '../../base/ids.ts'
import type { Db } from '../../store/dialect/dialect.ts'
import { hasReader, type ReadScope } from '../../store/readers.ts'
import type { EventRow } from '../../store/tables.ts'
import type { Nodes } from '../nodes/nodes.ts'
import type { Caller } from './caller.ts'

/** What a reader of the stream chooses events by. */
export interface EventScope extends Scope {
  readonly type: string
}

/** Who reads the stream of events just now. */
export interface Readers {
  /** Someone who takes the events for which `takes` is true; gives the function that takes the reader away. */
  add(takes: (event: EventScope) => boolean): () => void
  /** Whether anybody would get this event in this process. */
  has(event: EventScope): boolean
  /** Whether anybody would at this node or another, which tell each other within a second. */
  isRead(db: Db, event: EventScope): Promise<boolean>
}

export function createReaders(nodes: Pick<Nodes, 'holder'>): Readers {
  const all = new Set<(event: EventScope) => boolean>()
  const has = (event: EventScope) => {
    for (const takes of all) if (takes(event)) return true
    return false
  }
  return {
    has,
    async isRead(db, event) {
      return has(event) || (await hasReader(db, event, nodes.holder))
    },
    add(takes) {
      // A new function each time, because a set would keep the same one only once.
      const reader = (event: EventScope) => takes(event)
      all.add(reader)
      return () => all.delete(reader)
    },
  }
}

/** Which events a reader takes; null is all that its key reaches. */
export interface Subscription {
  readonly inboxIds: ReadonlySet<string> | null
  readonly types: ReadonlySet<string> | null
  /** The id after which it begins. */
  readonly after: string
}

/** Why the server ends a stream. */
export type StreamEnd = 'revoked' | 'slow' | 'full' | 'stopping' | 'fault'

/** The room of a text that is made for one reader alone. */
export interface TextRoom {
  /** So many bytes it has now that it was made. */
  become(bytes: number): void
  leave(): void
}

/** Where a reader's events go: a connection. */
export interface EventSink {
  /**
   * @param body may be shared with other readers
   * @param sent called once it has left for the system, or never will
   */
  write(event: EventRow, body: Buffer, sent?: () => void): void
  /**
   * Waits for room for a text of at most so many bytes, which is made for this reader alone.
   * @throws Problem when there is none for long
   */
  enter(bytes: number): Promise<TextRoom>
  /** Whether so much waits to go out that nothing more is to be written. */
  isFull(): boolean
  /** Resolves when it is not full any more; never, once it was closed. */
  drained(): Promise<void>
  /** Called about once a second, for what is to be said now and then. */
  tick(nowMs: number): void
  /** Closes the connection. */
  end(why: StreamEnd): void
}

/** A connection that is told events: all that its subscriptions take together, each once, in order. */
export interface EventReader {
  readonly caller: Caller
  readonly isSubscribed: boolean
  /**
   * Adds a subscription, unless the reader has the same one from as early on. Gives false when it has as many as it may
   * have.
   */
  add(subscription: Subscription): boolean
  /**
   * Takes these inboxes out of the subscriptions; null ends all of them.
   * @returns false, with nothing done, when a subscription names no inboxes and so takes them all
   */
  remove(inboxIds: ReadonlySet<string> | null): boolean
  takes(event: EventScope): boolean
  /** What it takes, told to other nodes. */
  scopes(): ReadScope[]
  /** There may be more in the window. */
  wake(): void
  /** Milliseconds since it waits for its connection to take what was written; 0 when it does not wait. */
  stalledMs(): number
  /** It reads no more. */
  stop(): void
}

/**
 * The events of this installation as they come. They are read from the table once and made into text once, for all readers.
 * A reader that begins earlier, or falls behind, reads the table by itself until it has caught up. So nothing is kept for a
 * reader, none misses an event, and none gets one twice.
 */
export interface EventStream {
  /** How many are open. */
  count(): number
  /**
   * Takes a place for a connection, until `close` is called.
   * @throws Problem `too_many_streams`; `unavailable` when all places are taken or the server is stopping
   */
  open(caller: Caller, sink: EventSink): { readonly reader: EventReader; close(): void }
  /** @throws Problem `unavailable` as `open` */
  requirePlace(): void
  /** Ends all streams. */
  stop(): void
}
