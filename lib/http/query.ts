import type { TObject } from 'typebox'
import { invalidRequest } from '../base/problem.ts'

/**
 * Query parameters in the types that they are declared with. What has not the form of its type stays text, so that
 * validation names it, as it does what is not declared: who misspells a filter is not given all.
 * @throws Problem `invalid_request` for a parameter that is given twice: none is declared as a list
 */
export function readQuery(parameters: URLSearchParams, schema: TObject): Record<string, unknown> {
  const declared = new Map<string, object>(Object.entries(schema.properties))
  const query = new Map<string, unknown>()
  for (const [name, text] of parameters) {
    // What is not declared is told as that, however often it is given.
    if (query.has(name) && declared.has(name)) throw invalidRequest(`query/${name}`, 'is given twice')
    query.set(name, readValue(text, declared.get(name) ?? {}))
  }
  // Own properties, whatever they are called.
  return Object.fromEntries(query)
}

function readValue(text: string, declared: object): unknown {
  const type = 'type' in declared ? declared.type : undefined
  // Beyond what a number holds exactly, one is as large as any other.
  if (type === 'integer' && /^-?\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
