import { isDeepStrictEqual } from 'node:util'
import { nameOfSchema } from '../model/shape.ts'

type Json = Record<string, unknown>

/** The schemas of a document that have names: each stands in it once, and is referred to wherever it is used. */
export interface Components {
  /** The schema as it is used: a reference where it has a name; what is inside it, too. */
  use(schema: object): Json
  /** Those that were used, by name. */
  readonly schemas: Readonly<Record<string, Json>>
}

/** @throws Error when two schemas have one name, which is a fault of the declarations */
export function createComponents(): Components {
  const schemas: Record<string, Json> = {}

  function use(schema: object): Json {
    const name = nameOfSchema(schema)
    if (name === undefined) return write(schema)
    // Where null may stand, too, it stands beside the name.
    const { isNullable, bare } = withoutNull(schema)
    const written = write(bare)
    const known = schemas[name]
    if (known && !isDeepStrictEqual(known, written)) throw new Error(`two schemas are called ${name}`)
    schemas[name] = written
    const reference = { $ref: `#/components/schemas/${name}` }
    return isNullable ? { anyOf: [reference, { type: 'null' }] } : reference
  }

  /** A reference has its own words beside it: generated clients show those of a field, and not those that it leads to. */
  function useAsField(schema: object): Json {
    const written = use(schema)
    const { description } = schema as { readonly description?: string }
    return description === undefined ? written : { ...written, description }
  }

  function write(schema: object): Json {
    const { title: _name, ...rest } = schema as Json
    return Object.fromEntries(Object.entries(rest).map(([key, value]) => [key, useInside(key, value)]))
  }

  function useInside(key: string, value: unknown): unknown {
    if (typeof value !== 'object' || value === null) return value
    if (key === 'properties') {
      return Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, useAsField(sayingDefault(property))]),
      )
    }
    if (key === 'items' || key === 'additionalProperties') return use(value)
    if (Array.isArray(value) && ['anyOf', 'oneOf', 'allOf'].includes(key)) return value.map(one => use(one))
    return value
  }

  return { use, schemas }
}

/**
 * The property with its default in its description. As a keyword it would make generated types ask for the property, for
 * they take it that what has a default is always there.
 */
function sayingDefault(property: object): object {
  const { default: value, description = '', ...rest } = property as Json
  if (value === undefined) return property
  return { ...rest, description: `${description} When omitted: ${JSON.stringify(value)}.`.trim() }
}

function withoutNull(schema: object): { isNullable: boolean; bare: object } {
  const {
    type,
    enum: words,
    examples,
    ...rest
  } = schema as {
    readonly type?: unknown
    readonly enum?: readonly unknown[]
    readonly examples?: readonly unknown[]
  }
  if (!Array.isArray(type) || !type.includes('null')) return { isNullable: false, bare: schema }
  const types = type.filter(one => one !== 'null')
  const shown = examples?.filter(one => one !== null) ?? []
  return {
    isNullable: true,
    bare: {
      ...rest,
      type: types.length === 1 ? types[0] : types,
      ...(words && { enum: words.filter(word => word !== null) }),
      ...(shown.length > 0 && { examples: shown }),
    },
  }
}
