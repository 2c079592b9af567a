import type { TObject, TSchema } from 'typebox'
import { exampleOf } from './example.ts'
import { errorComponents, errorResponses } from './openapi-errors.ts'
import { type Operation, takesKey } from './operation.ts'
import { pathParameters } from './path-parameters.ts'

type Json = Record<string, unknown>

/** A call that this server makes to an address of its user. */
export interface Webhook {
  /** As the event is named. */
  readonly name: string
  readonly summary: string
  readonly body: TObject
}

/** The OpenAPI 3.1 document of these operations and webhooks; `baseUrl` is where the operations are served. */
export function openApiDocument(
  operations: readonly Operation[],
  webhooks: readonly Webhook[],
  baseUrl: string,
): Json {
  const paths: Record<string, Json> = {}
  for (const one of operations) {
    paths[one.path] ??= {}
    paths[one.path]![one.method] = describe(one)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'mailboxd',
      version: '1.0.0',
      description: 'Email inboxes for software agents.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    tags: [...new Set(operations.map(one => one.tag))].map(name => ({ name })),
    paths,
    ...(webhooks.length > 0 && {
      webhooks: Object.fromEntries(webhooks.map(one => [one.name, { post: describeWebhook(one) }])),
    }),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: mbx_…' } },
      ...errorComponents(operations),
    },
  }
}

function describe(one: Operation): Json {
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: one.summary,
    security: securityOf(one),
    ...parametersOf(one),
    ...(one.body && {
      requestBody: { required: true, content: contentOf(one, one.body) },
    }),
    responses: { [String(one.success.status)]: successOf(one), ...repeatedOf(one), ...errorResponses(one) },
  }
}

/** Every call is signed in both forms; a receiver checks one of them. */
const signatureHeaders = [
  ['webhook-id', 'The id of the event, the same whenever it is told.'],
  ['webhook-timestamp', 'When this call was made, in Unix seconds.'],
  ['webhook-signature', '"v1," and the base64 HMAC-SHA256 of "id.timestamp.body" (Standard Webhooks).'],
  ['x-event-id', 'The id of the event.'],
  ['x-timestamp', 'When this call was made, in Unix seconds.'],
  ['x-signature', 'The hex HMAC-SHA256 of "timestamp.body" with the secret as it stands.'],
].map(([name, description]) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
}))

function describeWebhook({ name, summary, body }: Webhook): Json {
  return {
    operationId: `webhook:${name}`,
    tags: ['Webhooks'],
    summary,
    // The call is signed; no key of the API is in it.
    security: [],
    parameters: signatureHeaders,
    requestBody: { required: true, content: json(body) },
    responses: { '2XX': { description: 'The event is taken. Everything else is tried again later.' } },
  }
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

function json(schema: TSchema): Json {
  return { 'application/json': { schema, example: exampleOf(schema) } }
}

function contentOf({ formBytes }: Operation, body: TObject): Json {
  if (formBytes === undefined) return json(body)
  const files = { type: 'array', items: { type: 'string', contentMediaType: 'application/octet-stream' } }
  const schema = { ...body, properties: { ...body.properties, attachments: files } }
  return { ...json(body), 'multipart/form-data': { schema, example: exampleOf(schema) } }
}

function parametersOf(one: Operation): Json {
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
    schema,
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

function repeatedOf({ success, repeated }: Operation): Json {
  if (repeated === undefined || !('schema' in success)) return {}
  return { '200': { description: repeated, content: json(success.schema) } }
}

function successOf({ success }: Operation): Json {
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
  return { description: 'The answer.', content: json(success.schema) }
}
