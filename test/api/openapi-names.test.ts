import { execFileSync } from 'node:child_process'
import { builtinModules } from 'node:module'
import t from 'tap'
import { eventWebhooks } from '../../lib/api/event-webhooks.ts'
import { operations } from '../../lib/api/index.ts'
import { openApiDocument } from '../../lib/api/openapi.ts'
import { problems } from '../../lib/base/problem.ts'
import { without } from '../support/peers.ts'

type Json = Record<string, unknown>

const document = openApiDocument(operations, eventWebhooks, 'https://mail.example.com') as {
  paths: Record<string, Record<string, Json>>
  webhooks: Record<string, Record<string, Json>>
  components: { schemas: Record<string, Json> }
}
const { schemas } = document.components

/** Every schema in `node` that says which properties it has, with where it stands. */
function objectsIn(node: unknown, at: string): [at: string, schema: Json][] {
  if (typeof node !== 'object' || node === null) return []
  const inner = Object.entries(node)
    .filter(([key]) => !['example', 'examples', 'default', 'enum', 'const'].includes(key))
    .flatMap(([key, value]) => objectsIn(value, `${at}/${key}`))
  const types = 'type' in node ? [node.type].flat() : []
  const isObject = types.includes('object') && 'properties' in node
  return isObject ? [[at, node as Json], ...inner] : inner
}

t.test('every object has a name and is referred to by it', async t => {
  const nameless = [
    ...objectsIn(document.paths, 'paths'),
    ...objectsIn(document.webhooks, 'webhooks'),
    ...Object.entries(schemas).flatMap(([name, { properties, ...rest }]) => [
      ...objectsIn(properties, name),
      ...objectsIn({ ...rest, type: undefined }, name),
    ]),
  ].map(([at]) => at)
  t.strictSame(nameless, [], 'declare it with named() in lib/model')
  t.ok(Object.keys(schemas).length > 50)
})

t.test('every operation, field, parameter, answer and code says what it is', async t => {
  const silent: string[] = []
  const tell = (what: string, described: { readonly description?: unknown }, least = 3) => {
    if (typeof described.description !== 'string' || described.description.length < least) silent.push(what)
  }
  const meaningOf = (schema: Json): Json => {
    if (schema.description !== undefined) return schema
    const [orNull] = (schema.anyOf ?? []) as Json[]
    const reference = schema.$ref ?? orNull?.$ref
    return typeof reference === 'string' ? schemas[reference.split('/').at(-1)!]! : schema
  }
  for (const item of [...Object.values(document.paths), ...Object.values(document.webhooks)]) {
    for (const one of Object.values(item)) {
      const id = String(one.operationId)
      tell(id, one, 20)
      if (one.description === one.summary) silent.push(`${id} says its summary again`)
      for (const parameter of (one.parameters ?? []) as Json[]) tell(`${id} ${parameter.name}`, parameter)
      for (const [status, answer] of Object.entries(one.responses as Record<string, Json>)) {
        tell(`${id} ${status}`, answer)
      }
    }
  }
  for (const [name, schema] of Object.entries(schemas)) {
    tell(name, schema)
    for (const [field, property] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
      tell(`${name}.${field}`, meaningOf(property))
    }
  }
  for (const [code, [, text]] of Object.entries(problems)) tell(code, { description: text }, 10)
  t.strictSame(silent, [])
})

/** What a client in Python has already; typing is imported by nearly all. */
const pythonNames = `import builtins, typing, datetime, enum
print("\\n".join({*dir(builtins), *typing.__all__, *dir(datetime), *enum.__all__}))`

t.test('no name is one that a language has already', { skip: without('python3') }, async t => {
  const taken = new Set([
    ...Object.getOwnPropertyNames(globalThis),
    ...builtinModules,
    ...execFileSync('python3', ['-c', pythonNames], { encoding: 'utf8' }).trim().split('\n'),
    // Of browsers, and of the languages that import a set of names unasked.
    ...['Comment', 'Document', 'Element', 'Node', 'Notification', 'Range', 'Request', 'Selection', 'Text'],
    ...['Character', 'Class', 'Integer', 'Process', 'Record', 'Result', 'Runtime', 'System', 'Void'],
  ])
  t.strictSame(
    Object.keys(schemas).filter(name => taken.has(name)),
    [],
  )
  for (const name of Object.keys(schemas)) t.match(name, /^[A-Z][A-Za-z]+$/, name)
})
