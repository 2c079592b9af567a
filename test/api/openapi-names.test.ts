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

/** What a name says by itself, and what tells nothing in any sentence. */
const saysNothing = new Set(
  'a an the of to in is it its this that which what whose value field object list name id'.split(' '),
)

/** The words of a text that say something, each in its simplest form: messageIds → message. */
function wordsOf(text: string): string[] {
  return text
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .map(word => word.replace(/(?<=...)s$/, ''))
    .filter(word => word.length > 1 && !saysNothing.has(word))
}

/** Whether a description has not a word beyond what it describes, and what that is in. */
function isRepetition(description: string, ...names: readonly string[]): boolean {
  const known = new Set(names.flatMap(wordsOf))
  return wordsOf(description).every(word => known.has(word))
}

t.test(
  'every operation, field, parameter, answer and code says what it is, and more than its name',
  async t => {
    const silent: string[] = []
    const tell = (what: string, described: { readonly description?: unknown }, least: number) => {
      const { description } = described
      if (typeof description !== 'string' || description.length < least) {
        silent.push(`${what} says nothing`)
      } else if (isRepetition(description, what)) silent.push(`${what} says its name again: ${description}`)
      else if (!/[.?…:`)]$/.test(description)) silent.push(`${what} is no sentence: ${description}`)
    }
    for (const item of [...Object.values(document.paths), ...Object.values(document.webhooks)]) {
      for (const one of Object.values(item)) {
        const id = String(one.operationId)
        tell(id, one, 25)
        tell(`${id} in short`, { description: one.summary }, 12)
        if (isRepetition(String(one.description), id, String(one.summary)))
          silent.push(`${id} says its summary again`)
        for (const parameter of (one.parameters ?? []) as Json[])
          tell(`${id} ${parameter.name}`, parameter, 10)
        for (const [status, answer] of Object.entries(one.responses as Record<string, Json>)) {
          tell(`${id} ${status}`, answer, 5)
        }
      }
    }
    for (const [name, schema] of Object.entries(schemas)) {
      tell(name, schema, 15)
      for (const [field, property] of Object.entries((schema.properties ?? {}) as Record<string, Json>)) {
        tell(`${name}.${field}`, property, 15)
      }
    }
    // What it is, and when or what to do then.
    for (const [code, [, text]] of Object.entries(problems)) tell(code, { description: text }, 40)
    t.strictSame(silent, [])
  },
)

t.test('what is silent, or says its name again, is found', async t => {
  t.ok(isRepetition("The message's id.", 'messageId'))
  t.ok(isRepetition('Display name of the inbox.', 'Inbox.displayName'))
  t.notOk(isRepetition('The name in From.', 'Inbox.displayName'))
})

/** What a client in Python has already; typing is imported by nearly all. */
const pythonNames = `import builtins, typing, datetime, enum
print("\\n".join({*dir(builtins), *typing.__all__, *dir(datetime), *enum.__all__}))`

/** Of browsers; of java.lang (Java, Kotlin); of the usings of a C# project; of Swift with Foundation; of Ruby, PHP and Rust. */
const importedUnasked = `
  Comment Document Element Event File History Location Node Notification Option Range Request Response Selection Text
  Appendable AutoCloseable Boolean Byte Character Class ClassLoader Cloneable Comparable Compiler Deprecated Double Enum
  Error Exception Float Integer Iterable Long Math Module Number Object Override Package Process Readable Record Runnable
  Runtime Short String System Thread Throwable Void
  Action Activator Array Attribute Buffer Console Convert Delegate Environment Func Guid Index Lazy Nullable Predicate
  Progress Random Tuple Type Uri Version Directory Path Stream Dictionary HashSet List Queue Stack Barrier Monitor Timer
  Parallel Task
  Bundle Data Date Host Locale Measurement Operation Port Scanner Timezone Unit Any Optional Result Sequence Set Codable
  Comparable Hash Kernel Proc Struct Symbol Signal Closure Generator Iterator Box Drop Fn Some None Ok Err Vec`
  .trim()
  .split(/\s+/)

t.test('no name is one that a language has already', { skip: without('python3') }, async t => {
  const taken = new Set([
    ...Object.getOwnPropertyNames(globalThis),
    ...builtinModules,
    ...execFileSync('python3', ['-c', pythonNames], { encoding: 'utf8' }).trim().split('\n'),
    ...importedUnasked,
  ])
  t.strictSame(
    Object.keys(schemas).filter(name => taken.has(name)),
    [],
  )
  for (const name of Object.keys(schemas)) t.match(name, /^[A-Z][A-Za-z]+$/, name)
})
