import type { TSchema } from 'typebox'

interface Described {
  readonly examples?: readonly unknown[]
  readonly const?: unknown
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly oneOf?: readonly TSchema[]
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly minimum?: number
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

const ofFormat: Readonly<Record<string, string>> = {
  email: 'agent@example.com',
  uuid: '019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18',
  'date-time': '2026-11-21T09:30:00.000Z',
  uri: 'https://example.com/',
}

/**
 * A value of this schema as a reader would like to see it: what the schema gives as an example or a default where it does, else
 * the plainest value. Of properties that may be left out, those that have an example of their own are shown.
 */
export function exampleOf(schema: TSchema): unknown {
  const described = schema as Described
  if (described.examples) return described.examples[0]
  if (described.const !== undefined) return described.const
  if (described.default !== undefined) return described.default
  if (described.enum) return described.enum[0]
  const [choice] = described.anyOf ?? described.oneOf ?? []
  if (choice) return exampleOf(choice)
  const types = [described.type].flat()
  // A field that may be empty mostly is.
  if (types.includes('null')) return null
  if (types.includes('object')) return exampleOfObject(described)
  if (types.includes('array')) return described.items ? [exampleOf(described.items)] : []
  if (types.includes('boolean')) return true
  if (types.includes('integer') || types.includes('number')) return described.minimum ?? 0
  return ofFormat[described.format ?? ''] ?? 'text'
}

function exampleOfObject({ properties = {}, required = [] }: Described): object {
  const shown = Object.entries(properties).filter(([name, property]) => {
    const { examples } = property as Described
    return required.includes(name) || examples !== undefined
  })
  return Object.fromEntries(shown.map(([name, property]) => [name, exampleOf(property)]))
}
