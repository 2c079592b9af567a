import Type, { type TObject, type TProperties, type TSchema } from 'typebox'

/** Characters of a name or a label that a client gives. */
export const labelLength = 255

/** An object that takes no property but these. */
export function shape<Properties extends TProperties>(
  properties: Properties,
  options = {},
): TObject<Properties> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/**
 * An object that stands in OpenAPI under a name of its own, wherever it is used.
 * @param description what it is
 * @param name what it is called in generated clients: a noun of ours, none that a language has already (a test asks)
 */
export function named<Properties extends TProperties>(
  name: string,
  description: string,
  properties: Properties,
  options = {},
): TObject<Properties> {
  return shape(properties, { title: name, description, ...options })
}

/** The name that a schema stands under; undefined when it is written out where it is used. */
export function nameOfSchema(schema: object): string | undefined {
  return (schema as { readonly title?: string }).title
}

/** A text that may be null. */
export function nullableText(options: Record<string, unknown> = {}) {
  return Type.Unsafe<string | null>({ type: ['string', 'null'], ...options })
}

/** One of these words. */
export function oneOf<const Words extends readonly string[]>(
  words: Words,
  options: Record<string, unknown> = {},
) {
  return Type.Unsafe<Words[number]>({ type: 'string', enum: words, ...options })
}

/** One of these words, or null. */
export function nullableOneOf<const Words extends readonly string[]>(
  words: Words,
  options: Record<string, unknown> = {},
) {
  return Type.Unsafe<Words[number] | null>({ type: ['string', 'null'], enum: [...words, null], ...options })
}

/** A UUID, ordered by time. @param description what it names */
export function idOf(description: string) {
  return Type.String({ format: 'uuid', description, examples: ['019a8f1c-6b2e-7d40-9c51-3e0f7a2b4d18'] })
}

/** ISO 8601 with milliseconds and Z. @param description when that is */
export function instantOf(description: string) {
  return Type.String({ format: 'date-time', description, examples: ['2026-11-21T09:30:00.000Z'] })
}

/** A page of `data` and how many there are in all. */
export function pageOf<Item extends TSchema>(item: Item) {
  return named(`${nameOfSchema(item)}Page`, 'A page of a list; ask for the next with a larger `offset`.', {
    data: Type.Array(item, {
      description: 'The entries of this page, in the order of the list; empty beyond its end.',
    }),
    total: Type.Integer({
      minimum: 0,
      description: 'How many there are on all pages together, as the filters of the query say.',
      examples: [1],
    }),
  })
}

/** All of them, in `data`. */
export function listOf<Item extends TSchema>(item: Item, description = 'All that there are.') {
  return named(`${nameOfSchema(item)}List`, 'A whole list; it is short and has no pages.', {
    data: Type.Array(item, { description }),
  })
}
