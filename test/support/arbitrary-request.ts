import fc, { type Arbitrary } from 'fast-check'
import type { Operation } from '../../lib/api/operation.ts'
import { anotherText, fitting, nastyText } from './arbitrary-value.ts'

/** Things that are there for requests to name; ids are known only when the request is made. */
export const realThings = [
  'pod',
  'clientId',
  'inbox',
  'thread',
  'message',
  'delivery',
  'draft',
  'domain',
  'rule',
  'podKey',
  'inboxKey',
  'emptyPod',
  'event',
] as const
export type RealThing = (typeof realThings)[number]

/** What stands at a place of a path or query: the id of something real, or a text. */
export type Place = { readonly real: RealThing } | { readonly text: string }

/** Whose key is sent. */
export const askers = ['account', 'pod', 'inbox', 'wrong', 'none'] as const
export type Asker = (typeof askers)[number]

export interface ArbitraryRequest {
  readonly asker: Asker
  readonly params: readonly Place[]
  readonly query: readonly (readonly [name: string, value: Place])[]
  readonly contentType: string | undefined
  /** JSON text, or a form of one. */
  readonly body: string | undefined
  /** More header lines. */
  readonly headers: readonly string[]
}

const place: Arbitrary<Place> = fc.oneof(
  fc.constantFrom(...realThings).map(real => ({ real })),
  nastyText.map(text => ({ text })),
  fc.uuid({ version: 7 }).map(text => ({ text })),
)

/** Any bytes of Latin-1; of those that no header may have, few. */
const headerValue = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map(toText), maxLength: 300 }),
  },
  { weight: 1, arbitrary: fc.string({ unit: fc.integer({ min: 0, max: 0xff }).map(toText), maxLength: 20 }) },
)

function toText(code: number): string {
  return String.fromCharCode(code)
}

/**
 * Requests for one operation: mostly such as its schemas take, of which the server may refuse what it must, and many that are wrong
 * somewhere.
 * @param own what its path parameters are when they are right
 */
export function requestsOf(one: Operation, own: readonly Place[]): Arbitrary<ArbitraryRequest> {
  const params = fc.oneof(
    { weight: 3, arbitrary: fc.constant(own) },
    { weight: 1, arbitrary: fc.array(place, { minLength: own.length, maxLength: own.length }) },
  )
  const asker = fc.oneof(
    { weight: 6, arbitrary: fc.constant<Asker>('account') },
    { weight: 2, arbitrary: fc.constantFrom(...askers) },
  )
  const json = fc.record({ contentType, body: bodyOf(one) })
  const written =
    one.body && one.formBytes !== undefined
      ? fc.oneof({ weight: 3, arbitrary: json }, { weight: 1, arbitrary: fitting(one.body).map(formOf) })
      : json
  return fc
    .tuple(fc.record({ asker, params, query: queryOf(one), headers: headersOf(one) }), written)
    .map(([asked, body]) => ({ ...asked, ...body }))
}

const contentType = fc.oneof(
  { weight: 12, arbitrary: fc.constant('application/json') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      undefined,
      'application/json; charset=utf-16',
      'application/json; charset=nonsense',
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/vnd.x+json',
      '/',
      'multipart/form-data',
      'multipart/form-data; boundary=x',
      'multipart/form-data; boundary=""',
    ),
  },
)

/** A body as multipart/form-data: texts as they are, all else as JSON, attachments as files. */
function formOf(value: unknown): Pick<ArbitraryRequest, 'contentType' | 'body'> {
  const boundary = 'a-boundary'
  const parts = Object.entries(value as object).flatMap(([name, field]) => {
    if (name !== 'attachments') {
      const text = typeof field === 'string' ? field : JSON.stringify(field)
      return `name="${name}"\r\n\r\n${text}`
    }
    return ((field ?? []) as { filename: string; content: string }[]).map(
      ({ filename, content }) => `name="${name}"; filename="${filename}"\r\n\r\n${content}`,
    )
  })
  const written = parts.map(part => `--${boundary}\r\nContent-Disposition: form-data; ${part}\r\n`)
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: `${written.join('')}--${boundary}--\r\n`,
  }
}

function queryOf(one: Operation): Arbitrary<ArbitraryRequest['query']> {
  const declared = Object.entries(one.query?.properties ?? {})
  const more = fc.tuple(fc.oneof(fc.constantFrom('x', '__proto__', 'limit[]'), nastyText), place)
  const given = declared.map(([name, schema]) => {
    const right = fitting(schema).map(value => ({ text: String(value) }))
    const values = fc.oneof({ weight: 4, arbitrary: right }, place)
    // Waiting is not what is tried here.
    if (name === 'timeout')
      return fc.constantFrom('0', '0', '-1', '1e3', '301', 'x').map(text => [[name, { text }] as const])
    // Seldom twice.
    const times = fc.constantFrom(0, 0, 0, 0, 1, 1, 1, 2)
    return fc
      .tuple(times, values, values)
      .map(([count, ...two]) => two.slice(0, count).map(value => [name, value] as const))
  })
  return fc
    .tuple(fc.tuple(...given), fc.array(more, { maxLength: 1 }))
    .map(([lists, others]) => [...lists.flat(), ...others])
}

function bodyOf(one: Operation): Arbitrary<string | undefined> {
  if (!one.body) return fc.constantFrom(undefined, undefined, undefined, '{}', 'x')
  const valid = fitting(one.body)
  return fc.oneof(
    { weight: 5, arbitrary: valid.map(value => JSON.stringify(value)) },
    { weight: 4, arbitrary: anotherText(valid) },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )
}

function headersOf(one: Operation): Arbitrary<string[]> {
  const keys = Object.keys(one.headers ?? {}).map(name =>
    fc.oneof(
      { weight: 6, arbitrary: fc.uuid().map(id => `${name}: ${id}`) },
      { weight: 1, arbitrary: fc.constantFrom('', `${name}: `, `${name}: same`) },
      { weight: 1, arbitrary: headerValue.map(value => `${name}: ${value}`) },
    ),
  )
  const other = fc
    .tuple(
      fc.constantFrom(
        'X-Forwarded-For',
        'X-Forwarded-Host',
        'If-None-Match',
        'Accept',
        'Range',
        'Expect',
        'Content-Encoding',
      ),
      fc.oneof(
        headerValue,
        fc.constantFrom('100-continue', 'bytes=0-1', '*', 'gzip', 'br', 'identity', '::1, 10.0.0.1'),
      ),
    )
    .map(([name, value]) => `${name}: ${value}`)
  return fc
    .tuple(
      fc.tuple(...keys),
      fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, fc.array(other, { maxLength: 2 })),
    )
    .map(([own, others]) => [...own, ...others].filter(line => line !== ''))
}
