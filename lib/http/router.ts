import Router, { type RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Context, Middleware } from 'koa'
import type { Method, Operation } from '../api/operation.ts'
import type { Throttle } from '../base/concurrency.ts'
import { Problem } from '../base/problem.ts'
import { type HandlerParts, operationHandler } from './operation-handler.ts'
import { answerPage, type Page } from './page.ts'

export interface RouterParts extends HandlerParts {
  readonly operations: readonly Operation[]
  readonly pages: readonly Page[]
  /** For pages that bound how often they are asked for, for each client address. */
  readonly perVisitor: Throttle
}

type Handler = RouterMiddleware

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
  for (const one of parts.operations) add(one.method, one.path, operationHandler(parts, one))
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
