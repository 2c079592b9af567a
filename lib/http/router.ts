import Router, { type RouterContext, type RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import {
  type Download,
  type Method,
  noQuery,
  type Operation,
  Redirect,
  Repeated,
  takesRoom,
} from '../api/operation.ts'
import { compileValidator } from '../api/validate.ts'
import type { Given } from '../base/found-faults.ts'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import type { Throttle } from '../base/throttle.ts'
import { isActiveToken } from '../core/account/keys.ts'
import type { App } from '../core/app/app.ts'
import { type Caller, requireAccess } from '../core/app/caller.ts'
import { requireSettled } from '../core/app/status.ts'
import { requireRoom } from '../core/app/storage.ts'
import type { EventFeed } from '../core/events/subscription.ts'
import { bearerToken, callerOf, queryToken } from './auth.ts'
import { bodyReader } from './body.ts'
import type { WatchBody } from './body-pace.ts'
import { answerDownload } from './download.ts'
import { answerFeed } from './feed.ts'
import { answerKeptJson, answerLargeJson, answerSharedJson } from './json.ts'
import {
  type MemoryBudget,
  type MemoryHold,
  type MemoryOwner,
  memoryNeeded,
  ownerOf,
  streamMemory,
} from './memory.ts'
import { answerPage, type Page } from './page.ts'
import { readQuery } from './query.ts'
import { takeOrRefuse } from './throttle.ts'

export interface RouterParts {
  readonly app: App
  readonly operations: readonly Operation[]
  readonly pages: readonly Page[]
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address. */
  readonly perAddress: Throttle
  /** For pages that bound how often they are asked for, for each client address. */
  readonly perVisitor: Throttle
  /** The memory for the bodies of requests, and for large answers until they are read. */
  readonly memory: MemoryBudget
  readonly watchBody: WatchBody
  /** Called when the key of a request was accepted, before its body is read. */
  readonly noteCaller: (context: Context) => void
  /** Whom a request that names no caller is counted as. */
  readonly clientAddress: (context: Context) => string
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
}

type Handler = RouterMiddleware
type Params = Readonly<Record<string, string>>

/** The routes of one resource with so many segments; a request is matched with these alone and not with all ninety. */
interface Resource {
  readonly router: Router
  /** The methods of each path. */
  readonly methods: Map<string, string[]>
}

/** Gives `koa` the routes of all operations and pages; 404 and 405 for what is none of them. */
export function useRoutes(koa: Koa, parts: RouterParts): void {
  const resources = new Map<string, Resource>()
  const add = (method: Method, declared: string, handler: Handler, strict = false) => {
    const path = declared.replaceAll(/\{(\w+)\}/g, ':$1')
    const name = resourceOf(path)
    const { router, methods } = resources.get(name) ?? {
      router: new Router({ sensitive: true }),
      methods: new Map<string, string[]>(),
    }
    resources.set(name, { router, methods })
    router.register(path, [method], handler, { strict })
    const allowed = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]
    methods.set(path, [...(methods.get(path) ?? []), ...allowed])
  }
  for (const one of parts.operations) add(one.method, one.path, handlerOf(parts, one))
  // With a slash at its end another address is meant by what a page refers to.
  for (const page of parts.pages) add(page.method, page.path, pageHandler(parts, page), true)

  const dispatchers = new Map(
    [...resources].map(([name, { router, methods }]) => {
      const dispatch = router.routes() as unknown as Middleware
      return [name, (context: Context) => dispatch(context, () => refuse(context, router, methods))]
    }),
  )
  koa.use(context => {
    if (parts.stopping.aborted) throw new Problem('unavailable')
    const dispatch = dispatchers.get(resourceOf(context.path))
    if (!dispatch) throw nothingAt(context.path)
    return dispatch(context)
  })
}

/** The first segment of a path, or the one after /v1, and how many there are. */
function resourceOf(path: string): string {
  const segments = path.split('/')
  const count = segments.at(-1) === '' ? segments.length - 1 : segments.length
  return `${segments[1] === 'v1' ? segments[2] : segments[1]} ${count}`
}

function nothingAt(path: string): Problem {
  return new Problem('not_found', `There is nothing at ${path}.`)
}

async function refuse(
  context: Context,
  router: Router,
  methodsOf: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const allowed = new Set(
    router.match(context.path, context.method).path.flatMap(layer => methodsOf.get(String(layer.path)) ?? []),
  )
  if (allowed.size === 0) throw nothingAt(context.path)
  const methods = [...allowed]
  context.set('Allow', methods.join(', '))
  // An agent reads the body, and often nothing else.
  const message = `${context.path} does not take ${context.method}; it takes ${methods.join(', ')}.`
  throw new Problem('method_not_allowed', message)
}

function pageHandler({ app, perVisitor, clientAddress }: RouterParts, page: Page): Handler {
  return async context => {
    const wait = page.tooMany ? perVisitor.take(clientAddress(context)) : 0
    if (page.tooMany && wait > 0) {
      context.set('Retry-After', String(wait))
      return answerPage(context, page.tooMany(app))
    }
    const host = context.hostname.toLowerCase()
    await answerPage(
      context,
      await page.handle({ app, host, query: new URLSearchParams(context.querystring) }),
    )
  }
}

/** Authenticates, reads, validates, does and answers, in this order: who may not ask is told so before anything is read. */
function handlerOf(parts: RouterParts, one: Operation): Handler {
  const { app, perKey, memory, watchBody } = parts
  const readBody = one.body && bodyReader({ ...one, body: one.body })
  const validateBody = one.body && compileValidator(one.body, 'body')
  const { query: querySchema = noQuery, access, success } = one
  const validateQuery = compileValidator(querySchema, 'query')

  function tokenOf(context: Context): string | undefined {
    const token = bearerToken(context.get('authorization'))
    const isInQuery = token === undefined && one.takesQueryToken
    return isInQuery ? queryToken(new URLSearchParams(context.querystring)) : token
  }

  async function authenticate(token: string | undefined): Promise<Caller | undefined> {
    const caller = await callerOf(app, token)
    if (caller) takeOrRefuse(perKey, caller.keyId ?? '')
    else if (access !== 'anyone') throw new Problem('unauthorized')
    if (caller && access !== 'anyone') requireAccess(caller, access)
    return caller
  }

  function queryOf({ querystring }: Context): Record<string, unknown> {
    // Who looks whether the server lives, or reads its documents, may add what keeps a cache out.
    if (!one.query && (querystring === '' || access === 'anyone')) return {}
    const parameters = new URLSearchParams(querystring)
    if (one.takesQueryToken) parameters.delete('token')
    return validateQuery(readQuery(parameters, querySchema))
  }

  async function bodyOf(request: Asking, token: string | undefined): Promise<Record<string, unknown>> {
    if (!readBody || !validateBody) return {}
    const hold = memory.open(ownerOfRequest(request))
    request.body = hold
    const watch: WatchBody = body => {
      const ends = [watchBody(body), hold.allowCut(() => body.refuse(memoryNeeded()))]
      return () => {
        for (const end of ends) end()
      }
    }
    const { value, contents, isSmall } = await readBody(request.context, { grow: hold.grow, watch })
    // A body may take long to come, and the key be revoked meanwhile.
    if (request.caller && !(await isActiveToken(app, token!))) throw new Problem('unauthorized')
    const others = function* (given: Given) {
      yield* contents.putInto(given)
      if (one.faults) yield* one.faults(given, app)
    }
    return validateBody(value, { allFaults: isSmall, others })
  }

  /** Aborted when the client goes away before it has its answer, or the server stops. */
  function signalOf(request: Asking): AbortSignal {
    request.signal ??= abortedWith(request.context, parts.stopping)
    return request.signal
  }

  function ownerOfRequest({ context, caller }: Asking): MemoryOwner {
    return ownerOf(caller, parts.clientAddress(context))
  }

  /** Holds memory for the answer until it was read, or its connection is over. */
  async function holdAnswer(request: Asking, bytes: number): Promise<MemoryHold> {
    const { context } = request
    const { res } = context
    const hold = memory.open(ownerOfRequest(request))
    await hold.enter(bytes, () => signalOf(request))
    hold.allowCut(() => res.destroy())
    if (res.closed) hold.leave()
    else res.once('close', () => hold.leave())
    return hold
  }

  /** What an operation answers, with yes or with no, once all that it has read is on the disk. What anyone may ask shows no rows. */
  function shown<T>(work: () => Promise<T>): Promise<T> {
    if (access === 'anyone') return work()
    // What was done is not answered with 503, after which it would be done again.
    return work().finally(() => (one.method === 'get' ? requireSettled(app) : app.store.settled()))
  }

  async function handle(request: Asking): Promise<void> {
    const { context } = request
    const token = tokenOf(context)
    const caller = await authenticate(token)
    request.caller = caller
    if (caller) parts.noteCaller(context)
    if (takesRoom(one)) requireRoom(app.storage.shared)
    const body = await bodyOf(request, token)
    const held = one.answerBytes === undefined ? undefined : await holdAnswer(request, one.answerBytes)
    const given = await shown(async () =>
      one.handle({
        app,
        // An operation that needs a key is not reached without one; the others take undefined.
        caller: caller as Caller,
        params: requireStorable(context.params),
        query: queryOf(context),
        body,
        header: name => context.get(name) || undefined,
        signal: () => signalOf(request),
      }),
    )
    if (given instanceof Redirect) return answerRedirect(context, given)
    const answer = given instanceof Repeated ? given.answer : given
    context.status = given instanceof Repeated ? 200 : success.status
    if ('download' in success) {
      held?.become((answer as Download).heldBytes ?? 0)
      answerDownload(context, answer as Download)
    } else if ('feed' in success) {
      await answerFeed(context, success.feed, answer as EventFeed, connection =>
        streamMemory(memory, ownerOfRequest(request), connection),
      )
    } else if (success.status === 204) context.body = null
    else if (one.isAnswerKept) await answerKeptJson(context, answer as object)
    else if (one.isAnswerShared) {
      // Nothing is held for who waits; one that was answered by now holds what nobody was given before.
      const bytes = await answerSharedJson(context, answer as object)
      if (bytes > limits.unpacedBytes) await holdAnswer(request, bytes)
    } else {
      const bytes = await answerLargeJson(context, answer)
      held?.become(bytes)
    }
  }

  return async context => {
    context.state.operation = one.id
    const request: Asking = { context, caller: undefined, body: undefined, signal: undefined }
    try {
      await handle(request)
    } catch (error) {
      // Not of a key that was good when the request began: nobody guessed.
      if (error instanceof Problem && error.code === 'unauthorized' && !request.caller) {
        takeOrRefuse(parts.perAddress, parts.clientAddress(context))
      }
      throw error
    } finally {
      request.body?.leave()
    }
  }
}

/** The id of the operation that a request asked for; `none` for a page, and for what is nothing. */
export function operationOf({ state }: Pick<Context, 'state'>): string {
  return typeof state.operation === 'string' ? state.operation : 'none'
}

function answerRedirect(context: Context, { url }: Redirect): void {
  context.status = 302
  context.set('Location', url)
  // Its signature is for who asked.
  context.set('Cache-Control', 'private, no-store')
  context.body = ''
}

/** A request, its caller once that is known, and the memory of its body. */
interface Asking {
  readonly context: RouterContext
  caller: Caller | undefined
  body: MemoryHold | undefined
  signal: AbortSignal | undefined
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

/** Nothing has a NUL in its name, and a database may not be asked for one. */
function requireStorable(params: Params): Params {
  for (const name in params) if (params[name]!.includes('\0')) throw new Problem('not_found')
  return params
}
