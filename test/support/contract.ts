import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { eventWebhooks } from '../../lib/api/event-webhooks.ts'
import { operations } from '../../lib/api/index.ts'
import { openApiDocument } from '../../lib/api/openapi.ts'
import { type Operation, problemsOf } from '../../lib/api/operation.ts'
import { nameOf, type ProblemCode, problems, statusOf } from '../../lib/base/problem.ts'
import type { Answer } from './api.ts'

/** Holds an answer against what is declared; throws when it is something else. */
export type Contract = (method: string, path: string, answer: Answer) => void

interface Responses {
  readonly [status: string]: { readonly content?: { readonly [type: string]: { schema: object } } }
}

/**
 * Reads the OpenAPI document as its clients would: the status must be declared, the body must have the declared form,
 * and an error's code must be one that the operation lists. Off the declared paths only 404 and 405 may come.
 */
export function createContract(operations: readonly Operation[], document: object): Contract {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema(document, 'openapi')
  const validators = new Map<string, ValidateFunction>()
  const validate = (pointer: string, body: unknown, what: string) => {
    let check = validators.get(pointer)
    if (!check) {
      check = ajv.compile({ $ref: `openapi#${pointer}` })
      validators.set(pointer, check)
    }
    if (!check(body))
      throw new Error(`${what} has another body than declared: ${ajv.errorsText(check.errors)}`)
  }

  return (method, path, answer) => {
    // As the client asks for it: dots are resolved.
    const { pathname } = new URL(path, 'http://localhost')
    const asked = method === 'HEAD' ? 'get' : method.toLowerCase()
    const what = `${method} ${pathname.slice(0, 200)} → ${answer.status}`
    const one = operations.find(
      candidate => candidate.method === asked && formOf(candidate.path).test(pathname),
    )
    if (answer.status >= 400 && method !== 'HEAD') {
      validate('/components/schemas/ErrorBody', answer.body, what)
      if (!isGiven(Object.keys(problems) as ProblemCode[], answer)) {
        throw new Error(`${what} with ${answer.body.error}`)
      }
    }
    if (!one) {
      if (![404, 405].includes(answer.status)) throw new Error(`${what} is not declared at all`)
      return
    }
    const responses = documentResponses(document, one)
    const declared = responses[String(answer.status)]
    if (!declared) throw new Error(`${what} (${answer.body?.error}) is not declared for ${one.id}`)
    if (method === 'HEAD') {
      if (answer.bytes.length > 0) throw new Error(`${what} has a body`)
      return
    }
    if (answer.status >= 400) {
      if (!isGiven(problemsOf(one), answer)) {
        throw new Error(`${what}: ${one.id} does not list ${answer.body.error}`)
      }
      return
    }
    if (!declared.content) {
      if (answer.bytes.length > 0) throw new Error(`${what} has a body`)
    } else if (declared.content['application/json']) {
      const at = `/paths/${pointerPart(one.path)}/${one.method}/responses/${answer.status}/content`
      validate(`${at}/application~1json/schema`, answer.body, what)
    }
  }
}

/** Says what is wrong with a value, held against the schema that the OpenAPI document has under this name; undefined: nothing. */
export function describedForm(name: string): (value: unknown) => string | undefined {
  let check: ValidateFunction | undefined
  return value => {
    check ??= compileNamed(name)
    return check(value) ? undefined : JSON.stringify(check.errors)
  }
}

function compileNamed(name: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addSchema(openApiDocument(operations, eventWebhooks, 'http://localhost'), 'openapi')
  return ajv.compile({ $ref: `openapi#/components/schemas/${name}` })
}

/** Whether one of these codes gives this answer. */
function isGiven(codes: readonly ProblemCode[], { status, body }: Answer): boolean {
  return codes.some(code => nameOf(code) === body.error && statusOf(code) === status)
}

function documentResponses(document: object, one: Operation): Responses {
  const { paths } = document as { paths: Record<string, Record<string, { responses: Responses }>> }
  return paths[one.path]?.[one.method]?.responses ?? {}
}

function formOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`)
}

function pointerPart(path: string): string {
  return encodeURIComponent(path.replaceAll('~', '~0').replaceAll('/', '~1'))
}
