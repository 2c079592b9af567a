import type { TSchema } from 'typebox'
import type { Operation } from './operation.ts'
import { pathParameters } from './path-parameters.ts'

/** What of a JSON schema matters for an argument. */
interface Described {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Described[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
  readonly description?: string
  readonly default?: unknown
}

/** How the text of an argument becomes a value. */
export type Form = 'text' | 'number' | 'boolean' | 'texts' | 'files' | 'json'

/** One thing that a command takes: a part of the path, or a property of query or body. */
export interface Parameter {
  readonly part: 'path' | 'query' | 'body'
  /** Its name in the API. */
  readonly name: string
  /** Its name for mailboxctl, in kebab-case. */
  readonly word: string
  readonly form: Form
  readonly description: string
  readonly choices: readonly string[] | undefined
  readonly isRequired: boolean
  /** Whether an empty text clears it. */
  readonly mayClear: boolean
  readonly defaultValue: unknown
}

/** All that an operation takes, as it is declared. */
export function parametersOf(declared: Operation): Parameter[] {
  const { path, query, body, method } = declared
  const all: Parameter[] = [
    ...pathParameters(path).map(({ name, description = '' }) => ({
      part: 'path' as const,
      name,
      word: path.includes(`/inboxes/{${name}}`) ? 'inbox' : kebab(name),
      form: 'text' as const,
      description,
      choices: undefined,
      isRequired: true,
      mayClear: false,
      defaultValue: undefined,
    })),
    ...propertiesOf('query', query, false),
    ...propertiesOf('body', body, method === 'patch'),
  ]
  // Some have a second name for clients of before.
  return all.filter(({ word }, index) => all.findIndex(other => other.word === word) === index)
}

function propertiesOf(part: 'query' | 'body', schema: TSchema | undefined, isChange: boolean): Parameter[] {
  const { properties = {}, required = [] } = (schema ?? {}) as Described
  return Object.entries(properties).map(([name, property]) => {
    const described = withoutNull(property as Described)
    const types = [described.type].flat()
    return {
      part,
      name,
      // Each one is given by itself.
      word: name === 'attachments' ? 'attachment' : kebab(name),
      form: formOf(described),
      description: described.description ?? '',
      choices: described.enum?.filter(word => word !== null).map(String),
      isRequired: required.includes(name),
      mayClear: isChange && types.includes('null'),
      defaultValue: described.default,
    }
  })
}

/** What may be null or one thing is that thing; its types say that it may be null. */
function withoutNull(described: Described): Described {
  const { anyOf, ...bare } = described
  const [one, ...more] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  if (!anyOf || !one || more.length > 0) return described
  const isNullable = anyOf.length > 1
  return { ...one, ...bare, type: [...[one.type ?? []].flat(), ...(isNullable ? ['null'] : [])] }
}

function formOf({ type, items, enum: words }: Described): Form {
  const types = [type].flat()
  if (types.includes('array')) {
    const item = (items ?? {}) as Described
    if (item.properties && 'content' in item.properties && 'filename' in item.properties) return 'files'
    return [item.type].flat().includes('string') ? 'texts' : 'json'
  }
  if (types.includes('string') || words) return 'text'
  if (types.includes('integer') || types.includes('number')) return 'number'
  return types.includes('boolean') ? 'boolean' : 'json'
}

/** What names a pod or an inbox takes it by more than its id. */
function kebab(name: string): string {
  if (name === 'podId' || name === 'inboxId') return name.slice(0, -2)
  return name.replaceAll('_', '-').replaceAll(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)
}
