import type { Readable } from 'node:stream'
import type Type from 'typebox'
import type { TObject, TSchema } from 'typebox'
import type { FoundFault, Given, ProblemCode } from '../base/problem.ts'

import type { App, Desk } from '../core/app/app.ts'
import type { Access, Caller } from '../core/app/caller.ts'
import { shape } from '../model/shape.ts'
import { takingNulls, withoutNulls } from './nulls.ts'
import type { Tag } from './tags.ts'

/** What a large answer is assumed to need before it is made. */
export const largeAnswerBytes = 4 * 1024 * 1024

/** The query of an operation that declares none. */
export const noQuery = shape({})

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** What a handler is given; all of it was validated against the declaration. */
export interface Context<Query, Body, Opened = App> {
  readonly app: Opened
  readonly caller: Caller
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** A request header, by lower-case name. */
  readonly header: (name: string) => string | undefined
  /** For what waits: aborted when the client has gone or the server stops, with the Problem to be answered. */
  readonly signal: () => AbortSignal
}

/** An answer that is not JSON. */
export interface Download {
  readonly contentType: string
  readonly sizeBytes: number | undefined
  /** The name of the file that the answer is saved as. */
  readonly filename: string
  readonly content: Readable
  /** What of it is in memory until it is read, where that is much. */
  readonly heldBytes?: number
}

/** Which keys may call: `anyone` needs none (a key that is given all the same is passed on). */
type OperationAccess = Access | 'anyone'

/** An answer of a POST that made nothing, because the same request did before: 200 in the place of 201. */
export class Repeated {
  readonly answer: unknown
  constructor(answer: unknown) {
    this.answer = answer
  }
}

/** An answer that leads elsewhere (302), where the operation declares that it may. */
export class Redirect {
  readonly url: string
  constructor(url: string) {
    this.url = url
  }
}

interface Declaration<Query extends TObject, Body extends TObject> {
  /** camelCase, unique; the name in OpenAPI and in clients. */
  readonly id: string
  readonly method: Method
  /** With `{name}` for parameters. */
  readonly path: string
  readonly tag: Tag
  /** A sentence: what it does. */
  readonly summary: string
  /** When and why one asks for it, and what is not plain: what happens then, what comes with the answer, what to do after it. */
  readonly description: string
  readonly access: OperationAccess
  readonly query?: Query
  /** The JSON body. */
  readonly body?: Body
  /** What else is wrong with a body, beside what its schema says of it: so that one answer names every fault. */
  readonly faults?: (given: Given, app: App) => Iterable<FoundFault>
  /** How large the body may be; 1 MiB unless said. */
  readonly bodyBytes?: number
  /** How large the body may be as multipart/form-data, where that form is taken. */
  readonly formBytes?: number
  readonly headers?: Readonly<Record<string, { description: string; required: boolean }>>
  /** Whether the key may stand in the query as `token`, because clients in browsers can not set a header there. */
  readonly takesQueryToken?: true
  /**
   * The answer: its schema as JSON, a media type for a download, or one for a feed (an EventFeed) that goes on until one
   * side ends it; 204 has none, and 101 is no answer of a handler: what is said then in either direction, one message each.
   */
  readonly success:
    | { readonly status: 200 | 201; readonly schema: TSchema }
    | { readonly status: 200; readonly download: string; readonly example: string }
    | { readonly status: 200; readonly feed: string; readonly example: string }
    | { readonly status: 101; readonly takes: TSchema; readonly gives: TSchema }
    | { readonly status: 204 }
  /** Of one that makes something and may answer `Repeated`: what is in that answer. */
  readonly repeated?: string
  /** Of one that may answer with a `Redirect`: when, and where to. */
  readonly redirect?: string
  /** Whether one answer may go to many callers: the same object is made into text once. */
  readonly isAnswerShared?: true
  /** Whether the answer stays the same object: it is compressed once, and clients may keep it. */
  readonly isAnswerKept?: true
  /** What an answer may take of the memory until it is read, where that is much: then it waits until there is room. */
  readonly answerBytes?: number
  /** Whether it looks rows up and does no more: mailboxctl opens nothing else for it (see `lookup`). */
  readonly isLookup?: true
  /** The codes that this operation can give, besides those that follow from the declaration (see `problemsOf`). */
  readonly problems: readonly ProblemCode[]
}

/** One thing that can be asked. The router, the validation and the OpenAPI document are readings of it. */
export interface Operation extends Declaration<TObject, TObject> {
  handle(context: Context<Record<string, unknown>, Record<string, unknown>>): Promise<unknown>
}

/**
 * Declares an operation for callers with a key. In the body of a POST or PUT null says nothing where a property may be left
 * out; in that of a PATCH it clears what is there.
 */
export function operation<Query extends TObject, Body extends TObject>(
  declared: Declaration<Query, Body> & {
    readonly access: Access
    handle(context: Context<Type.Static<Query>, Type.Static<Body>>): Promise<unknown>
  },
): Operation {
  const plain = declared as Operation
  const { body, method } = plain
  if (!body || method === 'patch') return plain
  return {
    ...plain,
    body: takingNulls(body),
    handle: context => plain.handle({ ...context, body: withoutNulls(context.body, body) }),
  }
}

/** Declares an operation that looks rows up and does no more. */
export function lookup<Query extends TObject>(
  declared: Declaration<Query, TObject> & {
    readonly access: Access
    handle(context: Context<Type.Static<Query>, Record<string, unknown>, Desk>): Promise<unknown>
  },
): Operation {
  return { ...(declared as unknown as Operation), isLookup: true }
}

/** Declares an operation that needs no key. */
export function openOperation<Query extends TObject>(
  declared: Declaration<Query, TObject> & {
    readonly access: 'anyone'
    handle(
      context: Omit<Context<Type.Static<Query>, Record<string, unknown>>, 'caller'> & {
        caller: Caller | undefined
      },
    ): Promise<unknown>
  },
): Operation {
  return declared as Operation
}

/** Whether it stores something, for which there must be room on the disk; what is deleted makes room. */
export function takesRoom({ method }: Operation): boolean {
  return method !== 'get' && method !== 'delete'
}

/** Whether a key is asked for. An operation for anyone that can refuse with `unauthorized` takes one instead of something else. */
export function takesKey(declared: Operation): 'always' | 'optionally' | 'never' {
  if (declared.access !== 'anyone') return 'always'
  return declared.problems.includes('unauthorized') ? 'optionally' : 'never'
}

/** Every code that the operation can give, and no other: its own and those that follow from how it is declared. */
export function problemsOf(declared: Operation): readonly ProblemCode[] {
  const codes = new Set<ProblemCode>(declared.problems)
  codes.add('rate_limit_exceeded').add('internal_error').add('unavailable')
  if (declared.access !== 'anyone') codes.add('unauthorized')
  if (declared.access === 'account' || declared.access === 'pod') codes.add('forbidden')
  if (declared.path.includes('{')) codes.add('not_found')
  if (declared.query || declared.body || declared.access !== 'anyone') codes.add('invalid_request')
  if (declared.body) codes.add('request_timeout').add('payload_too_large').add('unsupported_media_type')
  return [...codes]
}
