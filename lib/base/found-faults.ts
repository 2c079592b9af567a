import { type Fault, Problem, type ProblemCode } from './problem.ts'

/** A fault that a rule found which no schema can say. */
export interface FoundFault extends Fault {
  /** The code that it is refused with where nothing else is wrong, if it has one of its own. */
  readonly code?: ProblemCode
}

/** A value of a request that was not yet found to be well-formed. */
export type Given = Readonly<Record<string, unknown>>

/**
 * What `check` refuses, as faults that are told beside others. @param path of what is checked
 * @param words what is told of a refusal with a code of its own, after the name of the field
 */
export function* faultsOf(path: string, check: () => unknown, words?: string): Generator<FoundFault> {
  try {
    check()
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    if (error.code === 'invalid_request') yield* error.more.details as readonly Fault[]
    else yield { path, message: words ?? `is refused: ${error.message.replace(/\.$/, '')}`, code: error.code }
  }
}

/** The same of a field, where that is a text; what else it may be is for the schema to say. */
export function* faultsOfText(
  given: Given,
  name: string,
  check: (text: string) => unknown,
  words?: string,
): Generator<FoundFault> {
  const value = given[name]
  if (typeof value === 'string') yield* faultsOf(`/${name}`, () => check(value), words)
}
