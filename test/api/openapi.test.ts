import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { operations } from '../../lib/api/index.ts'
import { problemsOf } from '../../lib/api/operation.ts'
import { packageVersion } from '../../lib/base/package-root.ts'
import { nameOf, type ProblemCode, problems, statusOf } from '../../lib/base/problem.ts'
import { eventNames } from '../../lib/model/event.ts'
import { startApi } from '../support/api-app.ts'

interface Parameter {
  readonly name: string
  readonly description?: string
  readonly in: string
  readonly required: boolean
  readonly schema: object
}

interface Content {
  readonly [type: string]: {
    readonly schema: object
    readonly example?: unknown
    readonly examples?: Readonly<Record<string, { readonly $ref: string }>>
  }
}

interface Described {
  readonly operationId: string
  readonly summary: string
  readonly tags: readonly string[]
  readonly security: readonly Record<string, readonly string[]>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly required: boolean; readonly content: Content }
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly headers?: object; readonly content?: Content }>
  >
}

/** The schema with its references led to the schema `document` of an Ajv. */
function within(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'))
}

t.test('the OpenAPI document', async t => {
  const { apiWith, faults } = await startApi(t)
  const answer = await apiWith(undefined).get('/v1/openapi.json')
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  const document = answer.body
  const paths: Record<string, Record<string, Described>> = document.paths
  const described = Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, one]) => ({ path, method, one })),
  )

  await t.test('is OpenAPI 3.1 in its structure', async t => {
    t.match(document.openapi, /^3\.1\.\d+$/)
    t.match(document.info, { title: /./, version: /./ })
    t.strictSame(document.servers, [{ url: '/' }], 'under whatever name it was asked for')
    t.equal(document.info.version, packageVersion())
    const fields = ['openapi', 'info', 'servers', 'tags', 'paths', 'webhooks', 'components']
    t.strictSame(
      Object.keys(document).filter(key => !fields.includes(key)),
      [],
    )
    const tags = document.tags.map((tag: { name: string }) => tag.name)
    t.equal(new Set(tags).size, tags.length)
    t.equal(new Set(described.map(({ one }) => one.operationId)).size, described.length)
    for (const { path, method, one } of described) {
      t.match(path, /^\//)
      t.ok(['get', 'put', 'post', 'delete', 'patch'].includes(method))
      t.match(one.operationId, /^[a-z][A-Za-z]+$/)
      t.match(one.summary, /\.$/)
      t.ok(one.tags.every(tag => tags.includes(tag)))
      for (const required of one.security) {
        for (const name of Object.keys(required)) t.ok(document.components.securitySchemes[name], name)
      }
      const names = (one.parameters ?? []).filter(each => each.in === 'path').map(each => each.name)
      t.strictSame(
        names,
        [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]),
        `${path} and its parameters`,
      )
      const all = (one.parameters ?? []).map(each => `${each.in} ${each.name}`)
      t.equal(new Set(all).size, all.length)
      for (const each of one.parameters ?? []) {
        t.ok(['path', 'query', 'header'].includes(each.in))
        t.ok(each.in !== 'path' || each.required)
        t.type(each.schema, 'object')
        if (each.in === 'path') t.match(each.description, /./, `${path} says what ${each.name} is`)
      }
      for (const [status, response] of Object.entries(one.responses)) {
        t.match(status, /^[1-5]\d\d$/)
        t.match(response.description, /./)
        t.equal(response.content === undefined, ['101', '204', '302'].includes(status))
        if (status === '302') t.match(response.headers, { Location: { required: true } })
        else
          t.strictSame(
            response.headers,
            status === '429' || status === '503'
              ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
              : undefined,
          )
      }
    }
  })

  await t.test('all its schemas are JSON Schema 2020-12, and all references lead somewhere', async t => {
    // strict: a misspelt keyword is an error, and not one that nobody heeds.
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, strictTypes: false })
    addFormats.default(ajv)
    ajv.addFormat('binary', true)
    ajv.addVocabulary(['components'])
    ajv.addSchema({ $id: 'document', components: { schemas: document.components.schemas } })
    const contents = described.flatMap(({ one }) => [
      ...Object.values(one.requestBody?.content ?? {}),
      ...Object.values(one.responses).flatMap(response => Object.values(response.content ?? {})),
      ...(one.parameters ?? []),
    ])
    t.ok(contents.length > 100)
    const schemas = [
      ...contents.map(({ schema }) => schema),
      ...Object.values<object>(document.components.schemas),
    ]
    for (const schema of schemas) {
      t.doesNotThrow(() => ajv.compile(within(schema)), JSON.stringify(schema).slice(0, 100))
    }
  })

  await t.test('says every operation, with every code that it can give', async t => {
    t.strictSame(
      described.map(({ path, method, one }) => `${one.operationId} ${method} ${path}`).sort(),
      operations.map(one => `${one.id} ${one.method} ${one.path}`).sort(),
    )
    for (const one of operations) {
      const { responses, requestBody, security, parameters } = document.paths[one.path][
        one.method
      ] as Described
      const successes = one.repeated === undefined ? [one.success.status] : [one.success.status, 200]
      if (one.redirect !== undefined) successes.push(302 as never)
      const statuses = [...successes, ...problemsOf(one).map(statusOf)]
      t.strictSame(Object.keys(responses).sort(), [...new Set(statuses.map(String))].sort(), one.id)
      for (const code of problemsOf(one)) {
        t.match(responses[String(statusOf(code))]?.description, `\`${nameOf(code)}\``, `${one.id} ${code}`)
      }
      t.equal(requestBody?.required, one.body ? true : undefined)
      // With either: the signed URL of an attachment, or a key.
      const open = one.id === 'downloadAttachment' ? [{}, { key: [] }] : []
      t.strictSame(security, one.access === 'anyone' ? open : [{ key: [] }])
      const query = (parameters ?? []).filter(each => each.in === 'query').map(each => each.name)
      t.strictSame(query, [
        ...Object.keys(one.query?.properties ?? {}),
        ...(one.takesQueryToken ? ['token'] : []),
      ])
    }
    const names = (Object.keys(problems) as ProblemCode[]).map(nameOf)
    t.strictSame(document.components.schemas.ErrorCode.enum, [...new Set(names)])
  })

  await t.test('shows an example of every body, each of the form that it is an example of', async t => {
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    ajv.addFormat('binary', true)
    ajv.addSchema(document, 'document')
    const isError = ajv.compile({ $ref: 'document#/components/schemas/ErrorBody' })
    let shown = 0
    for (const { one } of described) {
      const bodies = [one.requestBody, ...Object.values(one.responses)].flatMap(each =>
        Object.values(each?.content ?? {}),
      )
      for (const { schema, example, examples } of bodies) {
        shown++
        if (!examples) {
          t.not(example, undefined, `${one.operationId} has an example`)
          const isValid = ajv.compile(within(schema))
          t.ok(isValid(example), `${one.operationId}: ${ajv.errorsText(isValid.errors)}`)
          continue
        }
        t.ok(Object.keys(examples).length > 0)
        for (const { $ref } of Object.values(examples)) {
          const { value } = document.components.examples[$ref.split('/').at(-1)!]
          t.ok(isError(value), $ref)
        }
      }
    }
    t.ok(shown > 300)
  })

  await t.test('is found to be right by a validator that others use', async t => {
    const config = await createConfig({
      extends: ['recommended-strict'],
    })
    const faultsOf = async (source: string) =>
      (await lintFromString({ source, config }))
        .map(each => `${each.ruleId}: ${each.message} (${each.location[0]?.pointer})`)
        // What succeeds there is a WebSocket, and that is 101.
        .filter(fault => !/^operation-2xx-response: .*\/paths\/~1v1~1ws\/get/.test(fault))
        // x-websocket refers to them, which no validator reads.
        .filter(fault => !/^no-unused-components: .*\/Ws(Client|Server)Message/.test(fault))
    t.strictSame(await faultsOf(JSON.stringify(document)), [])
    const broken = { ...document, info: { ...document.info, title: undefined } }
    t.match(await faultsOf(JSON.stringify(broken)), [/^struct: /])
  })

  await t.test('shows what webhooks are called with, of every event', async t => {
    t.strictSame(Object.keys(document.webhooks), [...eventNames])
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    ajv.addSchema(document, 'document')
    const webhooks: Record<string, { post: Described }> = document.webhooks
    for (const [name, { post }] of Object.entries(webhooks)) {
      const { schema, example } = post.requestBody!.content['application/json']!
      t.ok(ajv.validate(within(schema), example), `${name}: ${ajv.errorsText()}`)
      t.match(example, { event: name })
    }
  })
  t.strictSame(faults, [])
})
