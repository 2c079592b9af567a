import { Ajv, type ErrorObject, type Options, type ValidateFunction } from 'ajv'
import type { TObject } from 'typebox'
import { type Fault, type FoundFault, type Given, invalidRequest, type Problem } from '../base/problem.ts'
import { choiceInWords, nearestWord, type ValueSchema, valueInWords } from '../base/text.ts'

interface Beside {
  /** false: the first fault of its form is enough. */
  readonly allFaults?: boolean
  /** What else is wrong with the value, of whatever form it is: told beside what the schema finds. */
  readonly others?: (given: Given) => Iterable<FoundFault>
}

/**
 * Gives the value when it has the declared form and nothing else is wrong with it; what is refused with a code of its own is
 * left to who does so, unless there are other faults.
 * @throws Problem `invalid_request` with the path of each fault
 */
type Validate = (value: unknown, beside?: Beside) => Record<string, unknown>

// The formats of the schemas are for readers; what is an address or an instant is decided in one place, core.
// Our schemas are tried against the meta-schema by a test, and their code is run too seldom to be worth optimising.
// Each fault comes with the schema that it is found by: what might be there.
const options: Options = {
  strict: false,
  validateFormats: false,
  ownProperties: true,
  validateSchema: false,
  verbose: true,
  code: { optimize: false },
}
const untilFirst = new Ajv(options)
const untilLast = new Ajv({ ...options, allErrors: true })
/** Faults that are told of one request, those that they are chosen from, and how much of a name that came with it. */
const faultsTold = 20
const faultsRead = 100
const nameLength = 100

/** @param part where the value came from, the first word of what is said */
export function compileValidator(schema: TObject, part: 'body' | 'query' | 'message'): Validate {
  // Compiled when the first value comes: a start needs none of them, and most are never used.
  const compiled = new Map<Ajv, ValidateFunction<Record<string, unknown>>>()
  return (value, { allFaults = true, others } = {}) => {
    const ajv = allFaults ? untilLast : untilFirst
    const check = compiled.get(ajv) ?? ajv.compile<Record<string, unknown>>(schema)
    compiled.set(ajv, check)
    const faults: FoundFault[] = check(value) ? [] : faultsOf(check.errors ?? [])
    const unstorable = faults.length === 0 ? findUnstorable(value, '') : undefined
    if (unstorable) faults.push(unstorable)
    if (others && isObject(value)) add(faults, others(value))
    if (faults.some(({ code }) => code === undefined)) throw invalid(part, faults)
    return value as Record<string, unknown>
  }
}

function isObject(value: unknown): value is Given {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** What is wrong with a part of which something was told is not told again. */
function add(faults: FoundFault[], others: Iterable<FoundFault>): void {
  const told = new Set(faults.map(({ path }) => path))
  // One more is looked for only while there is room: each costs the more the more there are.
  if (faults.length >= faultsTold) return
  for (const fault of others) {
    if (told.has(fault.path)) continue
    told.add(fault.path)
    faults.push(fault)
    if (faults.length >= faultsTold) return
  }
}

function invalid(part: string, faults: readonly FoundFault[]): Problem {
  const [first = { path: '', message: 'is not well-formed' }, ...others] = faults.map(
    ({ path, message }) => ({
      path,
      message,
    }),
  )
  return invalidRequest(`${part}${first.path}`, first.message, others)
}

/** For each place one fault. Where one of several forms was asked for, what is wrong within the one that was given. */
function faultsOf(errors: readonly ErrorObject[]): Fault[] {
  const read = errors.slice(0, faultsRead)
  const byPath = new Map<string, Fault>()
  for (const error of read) {
    const { path, message } = faultOf(error)
    const isWhole = error.keyword === 'anyOf' || error.keyword === 'oneOf'
    const hasInner = read.some(other => other.instancePath.startsWith(`${error.instancePath}/`))
    const isOfForms = isWhole || error.keyword === 'type'
    if (isOfForms && hasInner) continue
    // What all the forms are says more than what one of them is.
    if (!byPath.has(path) || isWhole) byPath.set(path, { path, message })
  }
  return [...byPath.values()].slice(0, faultsTold)
}

function faultOf(error: ErrorObject): Fault {
  const { instancePath: path, keyword, params, data } = error
  const schema = (error.parentSchema ?? {}) as ValueSchema & { properties?: Record<string, unknown> }
  if (keyword === 'additionalProperties') {
    const name: string = params.additionalProperty
    const known = Object.keys(schema.properties ?? {})
    const meant = nearestWord(name, known) ?? synonymOf(name, known)
    return {
      path: `${path}/${pointerPart(name.slice(0, nameLength))}`,
      message: `is not a property that is known here${meant === undefined ? '' : ` (did you mean ${meant}?)`}`,
    }
  }
  if (keyword === 'required') return { path: `${path}/${params.missingProperty}`, message: 'is required' }
  if (keyword === 'enum') return { path, message: `must be ${choiceInWords(schema.enum ?? [], data)}` }
  const words = valueInWords(schema)
  return { path, message: words === '' ? (error.message ?? 'is not well-formed') : `must be ${words}` }
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

/** What other services and libraries call a field of ours, where no spelling leads from one to the other. */
const others: Readonly<Record<string, readonly string[]>> = {
  text: ['body'],
  textbody: ['body'],
  bodytext: ['body'],
  plain: ['body'],
  message: ['body'],
  content: ['body', 'content'],
  html: ['bodyHtml'],
  htmlbody: ['bodyHtml'],
  recipients: ['to'],
  recipient: ['to'],
  title: ['subject'],
  inreplyto: ['threadId'],
  conversationid: ['threadId'],
  files: ['attachments'],
  name: ['filename', 'displayName', 'mailboxName'],
  username: ['mailboxName'],
  localpart: ['mailboxName'],
  mimetype: ['contentType'],
  type: ['contentType'],
  webhook: ['webhookUrl'],
  callbackurl: ['webhookUrl'],
  scheduledat: ['sendAt'],
  sendlater: ['sendAt'],
  read: ['is_read'],
  address: ['recipient', 'mailboxName'],
  email: ['address', 'recipient'],
  query: ['q'],
  search: ['q'],
  since: ['after'],
  until: ['before'],
  pagesize: ['limit'],
  count: ['limit'],
  skip: ['offset'],
  unread: ['is_read'],
}

/** The one of `known` that somebody who wrote `name` is likely to mean, though it is written otherwise. */
function synonymOf(name: string, known: readonly string[]): string | undefined {
  if (name.length > 40) return undefined
  const simple = name.toLowerCase().replaceAll(/[_-]/g, '')
  const meant = Object.hasOwn(others, simple) ? others[simple] : undefined
  return meant?.find(one => known.includes(one))
}
