import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import type { TObject } from 'typebox'
import { type Fault, invalidRequest, type Problem } from '../base/problem.ts'
import { nearestWord } from '../base/spelling.ts'

/**
 * Gives the value when it has the declared form.
 * @param allFaults false: the first fault is enough
 * @throws Problem `invalid_request` with the path of each fault
 */
export type Validate = (value: unknown, allFaults?: boolean) => Record<string, unknown>

// The formats of the schemas are for readers; what is an address or an instant is decided in one place, core.
// Our schemas are tried against the meta-schema by a test, and their code is run too seldom to be worth optimising.
const options: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  validateSchema: false,
  code: { optimize: false },
}
const untilFirst = new Ajv(options)
// Each fault with the schema that it is found by: what else might be there.
const untilLast = new Ajv({ ...options, allErrors: true, verbose: true })
/** Faults that are told of one request, those that they are chosen from, and how much of a name that came with it. */
const faultsTold = 20
const faultsRead = 100
const nameLength = 100

/** @param part where the value came from, the first word of what is said */
export function compileValidator(schema: TObject, part: 'body' | 'query' | 'message'): Validate {
  // Compiled when the first value comes: a start needs none of them, and most are never used.
  const compiled = new Map<Ajv, ValidateFunction<Record<string, unknown>>>()
  return (value, allFaults = true) => {
    const ajv = allFaults ? untilLast : untilFirst
    const check = compiled.get(ajv) ?? ajv.compile<Record<string, unknown>>(schema)
    compiled.set(ajv, check)
    if (!check(value)) throw invalid(part, faultsOf(check.errors ?? []))
    const fault = findUnstorable(value, '')
    if (fault) throw invalid(part, [fault])
    return value
  }
}

function invalid(part: string, faults: readonly Fault[]): Problem {
  const [first = { path: '', message: 'is not well-formed' }, ...others] = faults
  return invalidRequest(`${part}${first.path}`, first.message, others)
}

/** Each fault once. Where one of several forms was asked for, what is wrong with them, and not that null would do. */
function faultsOf(errors: readonly ErrorObject[]): Fault[] {
  const read = errors.slice(0, faultsRead)
  const told = read.filter(
    ({ keyword, params }) =>
      keyword !== 'anyOf' && keyword !== 'oneOf' && !(keyword === 'type' && params['type'] === 'null'),
  )
  const faults = (told.length > 0 ? told : read).map(faultOf)
  const each = new Map(faults.map(fault => [`${fault.path} ${fault.message}`, fault]))
  return [...each.values()].slice(0, faultsTold)
}

function faultOf(error: ErrorObject): Fault {
  if (error.keyword === 'additionalProperties') {
    const { additionalProperty } = error.params as { additionalProperty: string }
    const { properties = {} } = (error.parentSchema ?? {}) as { properties?: Record<string, unknown> }
    const nearest = nearestWord(additionalProperty, Object.keys(properties))
    return {
      path: `${error.instancePath}/${pointerPart(additionalProperty.slice(0, nameLength))}`,
      message: `is not a property that is known here${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}`,
    }
  }
  if (error.keyword === 'required') {
    const { missingProperty } = error.params as { missingProperty: string }
    return { path: `${error.instancePath}/${missingProperty}`, message: 'is required' }
  }
  if (error.keyword === 'enum') {
    const { allowedValues } = error.params as { allowedValues: unknown[] }
    return { path: error.instancePath, message: `must be one of ${allowedValues.map(String).join(', ')}` }
  }
  return { path: error.instancePath, message: error.message ?? 'is not well-formed' }
}

/** A name as it stands in a JSON pointer (RFC 6901 §3). */
function pointerPart(name: string): string {
  return name.toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')
}

/** Text that no mail header and no database holds: NUL, and halves of surrogate pairs. */
function findUnstorable(value: unknown, path: string): Fault | undefined {
  if (typeof value === 'string') {
    if (value.includes('\0')) return { path, message: 'must not contain NUL' }
    if (!value.isWellFormed())
      return { path, message: 'must be well-formed Unicode (it has a lone surrogate)' }
    return undefined
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, inner] of Object.entries(value)) {
    const fault = findUnstorable(inner, `${path}/${name}`)
    if (fault) return fault
  }
  return undefined
}
