import type { TObject } from 'typebox'

/**
 * Query parameters in the types that they are declared with. What has not the form of its type stays text, so that
 * validation names it, as it does what is not declared: who misspells a filter is not given all.
 */
export function readQuery(parameters: URLSearchParams, schema: TObject): Record<string, unknown> {
  const declared = new Map<string, object>(Object.entries(schema.properties))
  const query = new Map<string, unknown>()
  for (const [name, text] of parameters) {
    // Given twice, it is a list, and no parameter is declared as one.
    query.set(name, query.has(name) ? [] : readValue(text, declared.get(name) ?? {}))
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
