import type { TObject } from 'typebox'
import { nameOf, type ProblemCode, problems, statusOf } from '../base/problem.ts'
import { type Operation, problemsOf } from './operation.ts'

type Json = Record<string, unknown>

const errorNames = [...new Set((Object.keys(problems) as ProblemCode[]).map(nameOf))]

/** The OpenAPI 3.1 document of these operations; `baseUrl` is where they are served. */
export function openApiDocument(operations: readonly Operation[], baseUrl: string): Json {
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
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key: mbx_…' } },
      schemas: {
        Error: {
          type: 'object',
          required: ['error', 'message'],
          properties: {
            error: { type: 'string', enum: errorNames, description: 'What it is, for programs.' },
            message: { type: 'string', description: 'What it is and what to do, for people.' },
            details: {
              type: 'array',
              items: {
                type: 'object',
                properties: { path: { type: 'string' }, message: { type: 'string' } },
              },
            },
          },
        },
      },
    },
  }
}

function describe(one: Operation): Json {
  return {
    operationId: one.id,
    tags: [one.tag],
    summary: one.summary,
    security: one.access === 'anyone' ? [] : [{ key: [] }],
    ...parametersOf(one),
    ...(one.body && {
      requestBody: { required: true, content: contentOf(one, one.body) },
    }),
    responses: { [String(one.success.status)]: successOf(one), ...errorsOf(one) },
  }
}

function contentOf({ formBytes }: Operation, body: TObject): Json {
  const json = { 'application/json': { schema: body } }
  if (formBytes === undefined) return json
  const files = { type: 'array', items: { type: 'string', contentMediaType: 'application/octet-stream' } }
  const schema = { ...body, properties: { ...body.properties, attachments: files } }
  return { ...json, 'multipart/form-data': { schema } }
}

function parametersOf(one: Operation): Json {
  const inPath = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(one.query?.properties ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
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

function successOf({ success }: Operation): Json {
  if (success.status === 204) return { description: 'Done.' }
  if (success.status === 101) return { description: 'A WebSocket from here on.' }
  if ('feed' in success) {
    return {
      description: 'What happens, as it happens, until one side closes the connection.',
      content: { [success.feed]: { schema: { type: 'string' } } },
    }
  }
  if ('download' in success) {
    return {
      description: 'The bytes.',
      content: { [success.download]: { schema: { type: 'string', format: 'binary' } } },
    }
  }
  return { description: 'The answer.', content: { 'application/json': { schema: success.schema } } }
}

function errorsOf(one: Operation): Json {
  const byStatus = new Map<number, ProblemCode[]>()
  for (const code of problemsOf(one)) {
    byStatus.set(statusOf(code), [...(byStatus.get(statusOf(code)) ?? []), code])
  }
  return Object.fromEntries(
    [...byStatus]
      .sort(([a], [b]) => a - b)
      .map(([status, codes]) => [
        String(status),
        {
          description: codes.map(code => `\`${nameOf(code)}\`: ${problems[code][1]}`).join('\n\n'),
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      ]),
  )
}
