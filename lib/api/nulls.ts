import type { TObject, TSchema } from 'typebox'

interface Described {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly TSchema[]
  readonly items?: TSchema
  readonly properties?: Readonly<Record<string, TSchema>>
  readonly required?: readonly string[]
}

/**
 * The schema of a body in which null stands for "not given" wherever a property may be left out: clients write fields that
 * they have nothing for so.
 */
export function takingNulls(schema: TObject): TObject {
  return taking(schema) as TObject
}

function taking(schema: TSchema): TSchema {
  const { properties, required = [], items } = schema as Described
  if (items) return { ...schema, items: taking(items) } as TSchema
  if (!properties) return schema
  const taken = Object.entries(properties).map(([name, property]) => {
    const inner = taking(property)
    return [name, required.includes(name) ? inner : orNull(inner)]
  })
  return { ...schema, properties: Object.fromEntries(taken) } as TSchema
}

function orNull(schema: TSchema): TSchema {
  const { type, enum: words, anyOf } = schema as Described
  if (anyOf) return { ...schema, anyOf: [...anyOf.filter(one => !isNull(one)), { type: 'null' }] } as TSchema
  const types = [type].flat()
  if (type === undefined || types.includes('null')) return schema
  return { ...schema, type: [...types, 'null'], ...(words && { enum: [...words, null] }) } as TSchema
}

function isNull(schema: TSchema): boolean {
  return (schema as Described).type === 'null'
}

/** The body without its nulls. @param schema that `body` has the form of, but for the nulls */
export function withoutNulls(body: Record<string, unknown>, schema: TObject): Record<string, unknown> {
  return without(body, schema) as Record<string, unknown>
}

function without(value: unknown, schema: TSchema | undefined): unknown {
  const { properties, required = [], items } = (schema ?? {}) as Described
  if (Array.isArray(value)) return items ? value.map(one => without(one, items)) : value
  if (!properties || typeof value !== 'object' || value === null) return value
  const given = Object.entries(value).filter(([name, inner]) => inner !== null || required.includes(name))
  return Object.fromEntries(given.map(([name, inner]) => [name, without(inner, properties[name])]))
}
