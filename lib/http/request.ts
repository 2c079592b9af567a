import type { Context } from 'koa'
import { Problem } from '../base/problem.ts'
import type { Caller } from '../core/app/caller.ts'
import type { EventSink } from '../core/app/stream.ts'
import {
  type MemoryBudget,
  type MemoryHold,
  type MemoryOwner,
  ownerOf,
  type StreamConnection,
  streamMemory,
} from './memory.ts'

export type RequestContext = Context & { readonly params: Readonly<Record<string, string>> }

export interface RequestParts {
  /** The memory for the bodies of requests, and for large answers until they are read. */
  readonly memory: MemoryBudget
  /** Whom a request that names no caller is counted as. */
  readonly clientAddress: (context: Context) => string
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
}

/** A request for an operation, with the memory that it holds. */
export class OperationRequest {
  readonly context: RequestContext
  readonly token: string | undefined
  /** Who asks, once the key was accepted. */
  caller: Caller | undefined
  readonly #parts: RequestParts
  #body: MemoryHold | undefined
  #signal: AbortSignal | undefined

  constructor(context: RequestContext, token: string | undefined, parts: RequestParts) {
    this.context = context
    this.token = token
    this.#parts = parts
  }

  get #owner(): MemoryOwner {
    return ownerOf(this.caller, this.#parts.clientAddress(this.context))
  }

  /** Aborted when the client goes away before it has its answer, or the server stops. */
  signal(): AbortSignal {
    this.#signal ??= abortedWith(this.context, this.#parts.stopping)
    return this.#signal
  }

  /** Returns what counts the memory of the body, which is held until the request ends. */
  holdBody(): MemoryHold {
    this.#body = this.#parts.memory.open(this.#owner)
    return this.#body
  }

  /** Holds memory for the answer until it was read, or its connection is over. */
  async holdAnswer(bytes: number): Promise<MemoryHold> {
    const { res } = this.context
    const hold = this.#parts.memory.open(this.#owner)
    await hold.enter(bytes, () => this.signal())
    hold.allowCut(() => res.destroy())
    if (res.closed) hold.leave()
    else res.once('close', () => hold.leave())
    return hold
  }

  /** Returns what holds memory for the events of a stream, each until it was sent. */
  streamMemory(connection: StreamConnection): EventSink['enter'] {
    return streamMemory(this.#parts.memory, this.#owner, connection)
  }

  /** Its handler has ended: its body is needed no more. */
  end(): void {
    this.#body?.leave()
  }
}

function abortedWith({ res }: Pick<Context, 'res'>, stopping: AbortSignal): AbortSignal {
  const ended = new AbortController()
  const end = () => ended.abort(new Problem('unavailable'))
  if (stopping.aborted || res.closed) end()
  stopping.addEventListener('abort', end)
  res.once('close', () => {
    stopping.removeEventListener('abort', end)
    // Who has his answer waits for nothing.
    if (!res.writableFinished) end()
  })
  return ended.signal
}
