import type { TObject } from 'typebox'

/**
 * Query parameters in the types that they are declared with. What has not the form of its type stays text, so that
 * validation names it; parameters that are not declared are ignored.
 */
export function readQuery(parameters: URLSearchParams, schema: TObject): Record<string, unknown> {
  const query: Record<string, unknown> = {}
  for (const [name, declared] of Object.entries(schema.properties)) {
    const values = parameters.getAll(name)
    if (values.length === 0) continue
    // Given twice, it is a list, and no parameter is declared as one.
    query[name] = values.length > 1 ? values : readValue(values[0]!, declared)
  }
  return query
}

function readValue(text: string, declared: object): unknown {
  const type = 'type' in declared ? declared.type : undefined
  // Beyond what a number holds exactly, one is as large as any other.
  if (type === 'integer' && /^-?\d+$/.test(text)) return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
