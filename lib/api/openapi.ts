import type { TObject, TSchema } from 'typebox'
import { packageVersion } from '../base/package-root.ts'
import { nameOfSchema } from '../model/shape.ts'
import { type Components, createComponents } from './components.ts'
import { exampleOf } from './example.ts'
import { errorComponents, errorResponses } from './openapi-errors.ts'
import { type Operation, takesKey } from './operation.ts'
import { pathParameters } from './path-parameters.ts'
import { type Tag, tags } from './tags.ts'

type Json = Record<string, unknown>

/** A call that this server makes to an address of its user. */
export interface Webhook {
  /** As the event is named. */
  readonly name: string
  readonly summary: string
  /** When it is made, and what to do then. */
  readonly description: string
  readonly body: TObject
}

/** What holds for all operations. */
const about = `Email inboxes for software agents.

Send \`Authorization: Bearer <key>\` with every request. A key reaches the account, one pod or one inbox: what it does not reach is 404, what it may not do there is 403. A send takes an \`Idempotency-Key\`: the same request with the same key again gets the same answer and sends nothing. Lists have \`limit\` and \`offset\`. Every refusal is an \`ErrorBody\`, whose \`message\` says what to do; after 429 and 503 wait as long as \`Retry-After\` says.

Webhooks are signed by [Standard Webhooks](https://www.standardwebhooks.com/): \`webhook-signature\` is \`v1,\` and the base64 of the HMAC-SHA256 of \`<webhook-id>.<webhook-timestamp>.<body>\` under the secret, of which \`whsec_\` is left away and the rest decoded from base64. Answer 2xx within 15 seconds; everything else is tried again for some hours, and \`event_id\` stays the same.`

/** The OpenAPI 3.1 document of these operations and webhooks, which clients have at `baseUrl`. */
export function openApiDocument(
  operations: readonly Operation[],
  webhooks: readonly Webhook[],
  baseUrl: string,
): Json {
  const components = createComponents()
  const order = Object.keys(tags)
  const used = new Set<Tag>(operations.map(one => one.tag))
  const paths: Record<string, Json> = {}
  for (const one of operations.toSorted((a, b) => order.indexOf(a.tag) - order.indexOf(b.tag))) {
    paths[one.path] ??= {}
    paths[one.path]![one.method] = describe(one, components)
  }
  const calls = webhooks.map(one => [one.name, { post: describeWebhook(one, components) }])
  const errors = errorComponents(operations, components)
  return {
    openapi: '3.1.0',
    info: {
      title: 'mailboxd',
      version: packageVersion(),
      description: about,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // Without a name: the server that the document is had from, whatever it is called there.
    servers: [{ url: new URL(baseUrl).pathname.replace(/\/$/, '') || '/' }],
    tags: Object.entries(tags)
      .filter(([name]) => used.has(name as Tag))
      .map(([name, description]) => ({ name, description })),
    paths,
    ...(calls.length > 0 && { webhooks: Object.fromEntries(calls) }),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: mbx_…' } },
      schemas: sorted(components.schemas),
      ...errors,
    },
  }
}

function describe(one: Operation, components: Components): Json {
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: one.summary,
    description: one.description,
    security: securityOf(one),
    ...parametersOf(one, components),
    ...(one.body && {
      requestBody: { required: true, content: contentOf(one, one.body, components) },
    }),
    responses: {
      [String(one.success.status)]: successOf(one, components),
      ...repeatedOf(one, components),
      ...redirectOf(one),
      ...errorResponses(one),
    },
    ...conversationOf(one, components),
  }
}

/** Every call is signed in both forms; a receiver checks one of them. */
const signatureHeaders = [
  ['webhook-id', 'The id of the event, the same whenever it is told.'],
  ['webhook-timestamp', 'When this call was made, in Unix seconds.'],
  ['webhook-signature', '"v1," and the base64 HMAC-SHA256 of "id.timestamp.body" (Standard Webhooks).'],
  ['x-event-id', 'As webhook-id, for verifiers that want it under this name.'],
  ['x-timestamp', 'As webhook-timestamp, for the same.'],
  ['x-signature', 'The hex HMAC-SHA256 of "timestamp.body" with the secret as it stands.'],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}))

function describeWebhook({ name, summary, description, body }: Webhook, components: Components): Json {
  return {
    operationId: name.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase()),
    tags: ['Webhooks'],
    summary,
    description,
    // The call is signed; no key of the API is in it.
    security: [],
    parameters: signatureHeaders,
    requestBody: { required: true, content: json(body, components) },
    responses: { '2XX': { description: 'The event is taken. Everything else is tried again later.' } },
  }
}

/** In the order of their names, so that the same declarations always make the same document. */
function sorted(schemas: Readonly<Record<string, Json>>): Json {
  return Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1)))
}

function securityOf(one: Operation): Json[] {
  switch (takesKey(one)) {
    case 'always':
      return [{ key: [] }]
    case 'optionally':
      return [{}, { key: [] }]
    case 'never':
      return []
  }
}

function json(schema: TSchema, components: Components): Json {
  return { 'application/json': { schema: components.use(schema), example: exampleOf(schema) } }
}

function contentOf({ formBytes }: Operation, body: TObject, components: Components): Json {
  if (formBytes === undefined) return json(body, components)
  const files = {
    type: 'array',
    description: 'The files, each a part of its own with this name.',
    items: { type: 'string', contentMediaType: 'application/octet-stream' },
  }
  const schema = {
    ...body,
    title: `${nameOfSchema(body)}Form`,
    properties: { ...body.properties, attachments: files },
  }
  return {
    ...json(body, components),
    'multipart/form-data': { schema: components.use(schema), example: exampleOf(schema) },
  }
}

function parametersOf(one: Operation, components: Components): Json {
  const inPath = pathParameters(one.path).map(({ name, description }) => ({
    name,
    in: 'path',
    required: true,
    description,
    schema: { type: 'string' },
  }))
  const required: readonly string[] = one.query?.required ?? []
  const inQuery = Object.entries(one.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    description: (schema as { description?: string }).description,
    schema: components.use(schema),
  }))
  const token = one.takesQueryToken
    ? [
        {
          name: 'token',
          in: 'query',
          required: false,
          description: 'The API key, for clients that can not set an Authorization header.',
          schema: { type: 'string' },
        },
      ]
    : []
  const inHeader = Object.entries(one.headers ?? {}).map(([name, header]) => ({
    name,
    in: 'header',
    required: header.required,
    description: header.description,
    schema: { type: 'string' },
  }))
  const parameters = [...inPath, ...inQuery, ...token, ...inHeader]
  return parameters.length > 0 ? { parameters } : {}
}

/** What is said over a WebSocket. OpenAPI has no place for it: the schemas stand with the others, and this leads to them. */
function conversationOf({ success }: Operation, components: Components): Json {
  if (success.status !== 101) return {}
  const { takes, gives } = success
  const said = (schema: TSchema) => ({ schema: components.use(schema), example: exampleOf(schema) })
  return { 'x-websocket': { takes: said(takes), gives: said(gives) } }
}

function redirectOf({ redirect }: Operation): Json {
  if (redirect === undefined) return {}
  const headers = {
    Location: { description: 'The URL.', required: true, schema: { type: 'string', format: 'uri' } },
  }
  return { '302': { description: redirect, headers } }
}

function repeatedOf({ success, repeated }: Operation, components: Components): Json {
  if (repeated === undefined || !('schema' in success)) return {}
  return { '200': { description: repeated, content: json(success.schema, components) } }
}

function successOf({ success }: Operation, components: Components): Json {
  if (success.status === 204) return { description: 'Done.' }
  if (success.status === 101) return { description: 'A WebSocket from here on.' }
  if ('feed' in success) {
    return {
      description: 'What happens, as it happens, until one side closes the connection.',
      content: { [success.feed]: { schema: { type: 'string' }, example: success.example } },
    }
  }
  if ('download' in success) {
    const { download, example } = success
    return {
      description: 'The bytes.',
      content: { [download]: { schema: { type: 'string', format: 'binary' }, example } },
    }
  }
  const { description } = success.schema as { description?: string }
  return { description, content: json(success.schema, components) }
}
