import Router, { type RouterContext, type RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { Download, Operation } from '../api/operation.ts'
import { Problem } from '../base/problem.ts'
import type { App } from '../core/app.ts'
import { type Caller, requireAccess } from '../core/caller.ts'
import type { EventFeed } from '../core/event-feed.ts'
import { bearerToken, callerOf, queryToken } from './auth.ts'
import { bodyBytesUnlessSaid, operationBody } from './body.ts'
import { answerDownload } from './download.ts'
import { answerFeed } from './feed.ts'
import { answerJson } from './json.ts'
import { readQuery } from './query.ts'
import { type Throttle, takeOrRefuse } from './throttle.ts'
import { compileValidator } from './validate.ts'

export interface RouterParts {
  readonly app: App
  readonly operations: readonly Operation[]
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address. */
  readonly perAddress: Throttle
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

/** Gives `koa` the routes of all operations; 404 and 405 for what is none of them. */
export function useRoutes(koa: Koa, parts: RouterParts): void {
  const router = new Router<State>({ sensitive: true })
  const methods = new Map<string, string[]>()
  for (const one of parts.operations) {
    const path = one.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [one.method], handlersOf(parts, one))
    const allowed = one.method === 'get' ? ['GET', 'HEAD'] : [one.method.toUpperCase()]
    methods.set(path, [...(methods.get(path) ?? []), ...allowed])
  }
  koa.use(router.routes())
  koa.use(refuseUnknown(router, methods))
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
    const token = bearerToken(context.get('authorization'))
    const isInQuery = token === undefined && one.takesQueryToken
    const query = isInQuery ? queryToken(new URLSearchParams(context.querystring)) : undefined
    const caller = await callerOf(parts.app, token ?? query)
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
    else if ('feed' in one.success) await answerFeed(context, one.success.feed, answer as EventFeed)
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
