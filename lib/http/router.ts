import Router from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { Download, Operation } from '../api/operation.ts'
import { Problem } from '../base/problem.ts'
import type { App } from '../core/app.ts'
import { type Caller, requireAccess } from '../core/caller.ts'
import { callerOf } from './auth.ts'
import { jsonBody } from './body.ts'
import { answerDownload } from './download.ts'
import { readQuery } from './query.ts'
import type { Throttle } from './throttle.ts'
import { compileValidator } from './validate.ts'

const bodyBytesUnlessSaid = 1024 * 1024

export interface RouterParts {
  readonly app: App
  readonly operations: readonly Operation[]
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address. */
  readonly perAddress: Throttle
  readonly clientAddress: (context: Context) => string
}

/** Gives `koa` the routes of all operations; 404 and 405 for what is none of them. */
export function useRoutes(koa: Koa, parts: RouterParts): void {
  const router = new Router()
  const methods = new Map<string, string[]>()
  for (const one of parts.operations) {
    const path = one.path.replaceAll(/\{(\w+)\}/g, ':$1')
    router.register(path, [one.method], handlersOf(parts, one))
    methods.set(path, [...(methods.get(path) ?? []), one.method.toUpperCase()])
  }
  koa.use(router.routes())
  koa.use(refuseUnknown(router, methods))
}

function handlersOf(parts: RouterParts, one: Operation): Middleware[] {
  const readBody = one.body ? [jsonBody(one.bodyBytes ?? bodyBytesUnlessSaid)] : []
  const validateBody = one.body && compileValidator(one.body, 'body')
  const validateQuery = one.query && compileValidator(one.query, 'query')
  const { query: querySchema } = one

  const authenticate: Middleware = async (context, next) => {
    const caller = await callerOf(parts.app, context.get('authorization') || undefined)
    if (caller) takeOrRefuse(parts.perKey, caller.keyId ?? '')
    else if (one.access !== 'anyone') {
      takeOrRefuse(parts.perAddress, parts.clientAddress(context))
      context.set('WWW-Authenticate', 'Bearer')
      throw new Problem('unauthorized')
    }
    if (caller && one.access !== 'anyone') requireAccess(caller, one.access)
    context.state.caller = caller
    await next()
  }

  const handle: Middleware = async context => {
    const answer = await one.handle({
      app: parts.app,
      caller: context.state.caller as Caller,
      params: (context as unknown as { params: Record<string, string> }).params,
      query:
        querySchema && validateQuery ? validateQuery(readQuery(context.URL.searchParams, querySchema)) : {},
      body: validateBody ? validateBody(context.request.body ?? {}) : {},
      header: name => context.get(name) || undefined,
    })
    context.status = one.success.status
    if ('download' in one.success) answerDownload(context, answer as Download)
    else if (one.success.status === 204) context.body = null
    else context.body = answer
  }
  return [authenticate, ...readBody, handle]
}

function takeOrRefuse(throttle: Throttle, name: string): void {
  const retryAfterSeconds = throttle.take(name)
  if (retryAfterSeconds > 0) throw new Problem('rate_limit_exceeded', undefined, { retryAfterSeconds })
}

function refuseUnknown(router: Router, methods: ReadonlyMap<string, readonly string[]>): Middleware {
  return context => {
    const allowed = new Set(
      router.match(context.path, context.method).path.flatMap(layer => methods.get(String(layer.path)) ?? []),
    )
    if (allowed.size === 0) throw new Problem('not_found', `There is nothing at ${context.path}.`)
    context.set('Allow', [...allowed].join(', '))
    throw new Problem('method_not_allowed')
  }
}
