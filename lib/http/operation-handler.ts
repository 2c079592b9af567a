import type { Context } from 'koa'
import { noQuery, type Operation, takesRoom } from '../api/operation.ts'
import { compileValidator } from '../api/validate.ts'
import type { Throttle } from '../base/concurrency.ts'
import { type Given, Problem } from '../base/problem.ts'
import { isActiveToken } from '../core/account/keys.ts'
import type { App } from '../core/app/app.ts'
import { type Caller, requireAccess } from '../core/app/caller.ts'
import { requireSettled } from '../core/app/status.ts'
import { requireRoom } from '../core/app/storage.ts'
import { answerOf } from './answer.ts'
import { bearerToken, callerOf, queryToken } from './auth.ts'
import { bodyReader } from './body.ts'
import type { WatchBody } from './body-pace.ts'
import { memoryNeeded } from './memory.ts'
import { readQuery } from './query.ts'
import { OperationRequest, type RequestContext, type RequestParts } from './request.ts'
import { takeOrRefuse } from './throttle.ts'

export interface HandlerParts extends RequestParts {
  readonly app: App
  /** For each key. */
  readonly perKey: Throttle
  /** For failed authentication, for each client address. */
  readonly perAddress: Throttle
  readonly watchBody: WatchBody
  /** Called when the key of a request was accepted, before its body is read. */
  readonly noteCaller: (context: Context) => void
}

/** Values that came with a request, by their names. */
type Values = Record<string, unknown>

/** Returns the handler of an operation, which refuses a caller without the right key before it reads anything. */
export function operationHandler(
  parts: HandlerParts,
  one: Operation,
): (context: RequestContext) => Promise<void> {
  const { app } = parts
  const readBody = bodyStep(parts, one)
  const perform = performStep(app, one)
  const answer = answerOf(one)

  async function handle(request: OperationRequest): Promise<void> {
    await authenticate(parts, one, request)
    if (takesRoom(one)) requireRoom(app.storage.shared)
    const body = await readBody(request)
    const held = one.answerBytes === undefined ? undefined : await request.holdAnswer(one.answerBytes)
    const given = await perform(request, body)
    await answer(request, given, held)
  }

  return async context => {
    context.state.operation = one.id
    const request = new OperationRequest(context, tokenOf(context, one), parts)
    try {
      await handle(request)
    } catch (error) {
      // Not of a key that was good when the request began: nobody guessed.
      if (error instanceof Problem && error.code === 'unauthorized' && !request.caller) {
        takeOrRefuse(parts.perAddress, parts.clientAddress(context))
      }
      throw error
    } finally {
      request.end()
    }
  }
}

/** The id of the operation that a request asked for; `none` for a page, and for what is nothing. */
export function operationOf({ state }: Pick<Context, 'state'>): string {
  return typeof state.operation === 'string' ? state.operation : 'none'
}

function tokenOf(context: Context, { takesQueryToken }: Operation): string | undefined {
  const token = bearerToken(context.get('authorization'))
  const isInQuery = token === undefined && takesQueryToken
  return isInQuery ? queryToken(new URLSearchParams(context.querystring)) : token
}

/** @throws Problem `unauthorized`, `forbidden`, `rate_limit_exceeded` */
async function authenticate(
  { app, perKey, noteCaller }: HandlerParts,
  { access }: Operation,
  request: OperationRequest,
): Promise<void> {
  const caller = await callerOf(app, request.token)
  if (caller) takeOrRefuse(perKey, caller.keyId ?? '')
  else if (access !== 'anyone') throw new Problem('unauthorized')
  if (caller && access !== 'anyone') requireAccess(caller, access)
  request.caller = caller
  if (caller) noteCaller(request.context)
}

/** Returns what reads and validates the body, and counts its memory while it grows. */
function bodyStep(
  { app, watchBody }: HandlerParts,
  one: Operation,
): (request: OperationRequest) => Promise<Values> {
  const { body: schema, faults } = one
  if (!schema) return async () => ({})
  const read = bodyReader({ ...one, body: schema })
  const validate = compileValidator(schema, 'body')
  return async request => {
    const hold = request.holdBody()
    const watch: WatchBody = body => {
      const ends = [watchBody(body), hold.allowCut(() => body.refuse(memoryNeeded()))]
      return () => {
        for (const end of ends) end()
      }
    }
    const { value, contents, isSmall } = await read(request.context, { grow: hold.grow, watch })
    // A body may take long to come, and the key be revoked meanwhile.
    if (request.caller && !(await isActiveToken(app, request.token!))) throw new Problem('unauthorized')
    const others = function* (given: Given) {
      yield* contents.putInto(given)
      if (faults) yield* faults(given, app)
    }
    return validate(value, { allFaults: isSmall, others })
  }
}

/** Returns what reads and validates the query. */
function queryStep(one: Operation): (context: Context) => Values {
  const { query: schema = noQuery } = one
  const validate = compileValidator(schema, 'query')
  return ({ querystring }) => {
    // Who looks whether the server lives, or reads its documents, may add what keeps a cache out.
    if (!one.query && (querystring === '' || one.access === 'anyone')) return {}
    const parameters = new URLSearchParams(querystring)
    if (one.takesQueryToken) parameters.delete('token')
    return validate(readQuery(parameters, schema))
  }
}

/** Returns what has the operation done. It ends once all that the operation has read is on the disk, even if it was refused. */
function performStep(
  app: App,
  one: Operation,
): (request: OperationRequest, body: Values) => Promise<unknown> {
  const readQuery = queryStep(one)
  const perform = async (request: OperationRequest, body: Values) =>
    one.handle({
      app,
      // An operation that needs a key is not reached without one; the others take undefined.
      caller: request.caller as Caller,
      params: requireStorable(request.context.params),
      query: readQuery(request.context),
      body,
      header: name => request.context.get(name) || undefined,
      signal: () => request.signal(),
    })
  // What anyone may ask shows no rows.
  if (one.access === 'anyone') return perform
  // What was done is not answered with 503, after which it would be done again.
  const settle = () => (one.method === 'get' ? requireSettled(app) : app.store.settled())
  return (request, body) => perform(request, body).finally(settle)
}

/** Nothing has a NUL in its name, and a database may not be asked for one. */
function requireStorable(params: RequestContext['params']): RequestContext['params'] {
  for (const name in params) if (params[name]!.includes('\0')) throw new Problem('not_found')
  return params
}
