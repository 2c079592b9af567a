import fc, { type Arbitrary } from 'fast-check'

interface Schema {
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

/** Any but half of a surrogate pair. The library's own (`unit: 'binary'`) makes a map of all of them first, which takes seconds. */
const anyCharacter = fc
  .integer({ min: 0, max: 0x10_ff_ff - 0x800 })
  .map(code => String.fromCodePoint(code < 0xd8_00 ? code : code + 0x800))

/** Texts that have broken programs. */
export const nastyText: Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    '',
    ' ',
    '\0',
    'a\0b',
    '\ud800',
    'x\udc00y',
    '\ufeff',
    '\u202e',
    '\r\nX-Injected: 1',
    '\nBcc: eve@example.net',
    '\r\n\r\nbody',
    '__proto__',
    'constructor',
    'toString',
    'hasOwnProperty',
    '..',
    '../../etc/passwd',
    "'; drop table message; --",
    '" or ""="',
    '%',
    '%00',
    '%_*?[',
    '*@*',
    '@',
    '<script>',
    '{"a":',
    '"phrase',
    '-',
    'a OR b NEAR(c) ^d:*',
    'a@b@c',
    '"q\\"uote"@example.com',
    'x@[127.0.0.1]',
    'x@xn--',
    'xn--a.example',
    'ü@bücher.example',
    '1e999',
    '99999999999999999999',
    '2026-02-30',
    '0000-01-01T00:00:00Z',
    '+275760-09-13T00:00:00.001Z',
    '01890000-0000-7000-8000-000000000000',
    'x'.repeat(3000),
    'a.'.repeat(200),
    '\u0301'.repeat(300),
  ),
  fc.string({ unit: anyCharacter, maxLength: 40 }),
  fc.string({ unit: 'grapheme', maxLength: 40 }),
)

const ofFormat: Readonly<Record<string, Arbitrary<string>>> = {
  email: fc.oneof(
    fc.constantFrom('bob@example.net', 'ann@ours.example', 'gone@example.net'),
    fc.emailAddress({ size: 'small' }),
  ),
  'date-time': fc
    .date({ noInvalidDate: true, min: new Date('1970-01-01'), max: new Date('2200-01-01') })
    .map(date => date.toISOString()),
}

/** Values that the schema takes; what else the server wants of them, it does not say. */
export function fitting(schema: Schema): Arbitrary<unknown> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map(fitting))
  return fc.oneof(...[schema.type].flat().map(type => ofType(type, schema)))
}

function ofType(type: string | undefined, schema: Schema): Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.oneof(
        fc.integer({ min: schema.minimum ?? -9, max: Math.min(schema.maximum ?? 200, 200) }),
        fc.maxSafeInteger().filter(n => n >= (schema.minimum ?? n) && n <= (schema.maximum ?? n)),
      )
    case 'array':
      return fc.array(fitting(schema.items ?? {}), { maxLength: Math.min(schema.maxItems ?? 3, 3) })
    case 'object':
      return fc.record(
        Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, one]) => [name, fitting(one)]),
        ),
        { requiredKeys: [...(schema.required ?? [])] },
      )
    case 'string':
      return textOf(schema)
    default:
      return fc.jsonValue()
  }
}

function textOf({ format, minLength = 0, maxLength = 4000 }: Schema): Arbitrary<string> {
  const fits = nastyText.filter(({ length }) => length >= minLength && length <= maxLength)
  const known = ofFormat[format ?? '']
  const plain = fc.string({ minLength: Math.min(minLength, 40), maxLength: Math.min(maxLength, 40) })
  return known ? fc.oneof({ weight: 4, arbitrary: known }, fits) : fc.oneof(plain, fits)
}

const names = fc.constantFrom(
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'id',
  '',
  'a/b~c',
  '\ud800',
  'x'.repeat(300),
)

/** Values of any other form: JSON text, so that it can be what no JavaScript value becomes. */
export function anotherText(valid: Arbitrary<unknown>): Arbitrary<string> {
  const anything = fc.oneof(fc.jsonValue({ maxDepth: 4 }), nastyText)
  return fc.oneof(
    // One property more.
    fc.tuple(valid, names, anything).map(([value, name, more]) => withProperty(value, name, more)),
    // One property replaced.
    fc.tuple(valid, fc.nat(20), anything).map(([value, at, other]) => {
      const own = Object.keys(value as object)
      return withProperty(value, own[at % Math.max(own.length, 1)] ?? 'x', other)
    }),
    // One property less.
    fc.tuple(valid, fc.nat(20)).map(([value, at]) => {
      const own = Object.entries(value as object)
      return JSON.stringify(
        Object.fromEntries(own.filter((_, each) => each !== at % Math.max(own.length, 1))),
      )
    }),
    anything.map(value => JSON.stringify(value)),
    fc.constantFrom(
      '',
      '{',
      'null',
      '[]',
      '"',
      '{"a":1e999}',
      '{"limit":-1e308,"name":1e400}',
      '{"name":"a","name":"b"}',
      '{"__proto__":{"name":"x"}}',
      '{"constructor":{"prototype":{"name":"x"}}}',
      '{"name":"\\ud800"}',
      '{"name":"\\u0000"}',
      '\u0000',
      '\ufeff{}',
      '{"name":"x"}garbage',
      `${'['.repeat(20_000)}${']'.repeat(20_000)}`,
      `{"name":${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}}`,
      `{"name":"${'x'.repeat(100_000)}"}`,
      `{"to":[${'1,'.repeat(20_000)}1]}`,
      `{${Array.from({ length: 3000 }, (_, i) => `"k${i}":${i}`).join(',')}}`,
    ),
  )
}

function withProperty(value: unknown, name: string, more: unknown): string {
  const copy = { ...(value as object) }
  Object.defineProperty(copy, name, { value: more, enumerable: true, configurable: true })
  return JSON.stringify(copy)
}
