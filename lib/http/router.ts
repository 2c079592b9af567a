import Router, { type RouterContext, type RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { Download, Method, Operation } from '../api/operation.ts'
import { Problem } from '../base/problem.ts'
import type { App } from '../core/app.ts'
import { type Caller, requireAccess } from '../core/caller.ts'
import { callerOf } from './auth.ts'
import { bodyBytesUnlessSaid, operationBody } from './body.ts'
import { answerDownload } from './download.ts'
import { answerJson } from './json.ts'
import { answerPage, type Page } from './page.ts'
import { readQuery } from './query.ts'
import type { Throttle } from './throttle.ts'
import { compileValidator } from './validate.ts'

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
  readonly clientAddress: (context: Context) => string
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal
}

/** What the handlers of one request hand on. */
interface State {
  /** Who asks; undefined only where no key is needed. */
  caller: Caller | undefined
}
type Handler = RouterMiddleware<State>

/** Gives `koa` the routes of all operations and pages; 404 and 405 for what is none of them. */
export function useRoutes(koa: Koa, parts: RouterParts): void {
  const router = new Router<State>({ sensitive: true })
  const methods = new Map<string, string[]>()
  const add = (method: Method, declared: string, handlers: Handler[], strict = false) => {
    const path = declared.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [method], handlers, { strict })
    const allowed = method === 'get' ? ['GET', 'HEAD'] : [method.toUpperCase()]
    methods.set(path, [...(methods.get(path) ?? []), ...allowed])
  }
  for (const one of parts.operations) add(one.method, one.path, handlersOf(parts, one))
  // With a slash at its end another address is meant by what a page refers to.
  for (const page of parts.pages) add(page.method, page.path, [handlerOf(parts, page)], true)
  koa.use(router.routes())
  koa.use(refuseUnknown(router, methods))
}

function handlerOf({ app, perVisitor, clientAddress }: RouterParts, page: Page): Handler {
  return async context => {
    const wait = page.tooMany ? perVisitor.take(clientAddress(context)) : 0
    if (page.tooMany && wait > 0) {
      context.set('Retry-After', String(wait))
      return answerPage(context, page.tooMany(app))
    }
    answerPage(context, await page.handle({ app, query: new URLSearchParams(context.querystring) }))
  }
}

function handlersOf(parts: RouterParts, one: Operation): Handler[] {
  const readBody: Handler[] = one.body ? [operationBody({ ...one, body: one.body })] : []
  const validateBody = one.body && compileValidator(one.body, 'body')
  const validateQuery = one.query && compileValidator(one.query, 'query')
  const { query: querySchema } = one

  const limitFailures: Handler = async (context, next) => {
    try {
      await next()
    } catch (error) {
      if (error instanceof Problem && error.code === 'unauthorized') {
        takeOrRefuse(parts.perAddress, parts.clientAddress(context))
      }
      throw error
    }
  }

  const authenticate: Handler = async (context, next) => {
    const caller = await callerOf(parts.app, context.get('authorization') || undefined)
    if (caller) takeOrRefuse(parts.perKey, caller.keyId ?? '')
    else if (one.access !== 'anyone') throw new Problem('unauthorized')
    if (caller && one.access !== 'anyone') requireAccess(caller, one.access)
    context.state.caller = caller
    await next()
  }

  const handle: Handler = async context => {
    const answer = await one.handle({
      app: parts.app,
      // An operation that needs a key is not reached without one; the others take undefined.
      caller: context.state.caller as Caller,
      params: paramsOf(context),
      query:
        querySchema && validateQuery
          ? validateQuery(readQuery(new URLSearchParams(context.querystring), querySchema))
          : {},
      body: validateBody ? validateBody(context.request.body ?? {}, isSmall(context)) : {},
      header: name => context.get(name) || undefined,
      signal: () => signalOf(context, parts.stopping),
    })
    context.status = one.success.status
    if ('download' in one.success) answerDownload(context, answer as Download)
    else if (one.success.status === 204) context.body = null
    else answerJson(context, answer)
  }
  return [limitFailures, authenticate, ...readBody, handle]
}

function signalOf({ res }: Pick<Context, 'res'>, stopping: AbortSignal): AbortSignal {
  const ended = new AbortController()
  const end = () => ended.abort(new Problem('unavailable'))
  if (stopping.aborted || res.closed) end()
  stopping.addEventListener('abort', end)
  res.once('close', () => {
    stopping.removeEventListener('abort', end)
    end()
  })
  return ended.signal
}

/** Nothing has a NUL in its name, and a database may not be asked for one. */
function paramsOf({ params }: RouterContext<State>): Record<string, string> {
  if (Object.values(params).some(value => value.includes('\0'))) throw new Problem('not_found')
  return params
}

/** Whether all that is wrong with the body may be told: a large one could have millions of faults. */
function isSmall(context: Context): boolean {
  return (context.request.length ?? Number.POSITIVE_INFINITY) <= bodyBytesUnlessSaid
}

function takeOrRefuse(throttle: Throttle, name: string): void {
  const retryAfterSeconds = throttle.take(name)
  if (retryAfterSeconds > 0) throw new Problem('rate_limit_exceeded', undefined, { retryAfterSeconds })
}

function refuseUnknown(router: Router<State>, methods: ReadonlyMap<string, readonly string[]>): Middleware {
  return context => {
    const allowed = new Set(
      router.match(context.path, context.method).path.flatMap(layer => methods.get(String(layer.path)) ?? []),
    )
    if (allowed.size === 0) throw new Problem('not_found', `There is nothing at ${context.path}.`)
    context.set('Allow', [...allowed].join(', '))
    throw new Problem('method_not_allowed')
  }
}
