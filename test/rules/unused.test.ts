import { globSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import t from 'tap'
import { problems } from '../../lib/base/problem.ts'
import { allSettings } from '../../lib/config/declaration.ts'
import { root } from './source-tree.ts'

/** Exports of lib that only tests import, and why they stand in lib all the same. */
const forTests: Readonly<Record<string, string>> = {
  'lib/config/describe.ts#exampleConfig':
    'it makes config/mailboxd.example.toml, which a test holds to the schema',
  'lib/base/text.ts#editDistance': 'npm test tells the names that are like an unknown one',
  'lib/core/policy/decision.ts#isCovered': 'a part of the decision that has a table of cases of its own',
  'lib/mail/report/reply-rules.ts#readReplyRules': 'faults of the file of rules are tried with other files',
  'lib/core/outbound/suppressions.ts#suppressedUntil': 'what bounces mean is tried without a database',
  'lib/mail/compose/quote.ts#quoteText': 'a part of a reply that has a table of cases of its own',
  'lib/mail/compose/quote.ts#quoteHtml': 'a part of a reply that has a table of cases of its own',
  'lib/cli/terminal.ts#printableBytes':
    'what comes to a terminal is tried at every end of a chunk, without one',
  'lib/base/log.ts#createLogOutput': 'its bounds are tried with a reader that is slow',
  'lib/base/threads.ts#workedSince': 'what counts as standing still is tried without a thread',
  'lib/cli/log.ts#quietLog': 'a test that reads no log takes it, too',
  'lib/upkeep.ts#sweep': 'a sweep is done now, not at its time',
  'lib/upkeep.ts#sweeps': 'each sweep is done now, not at its time',
}

const uncommented = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
const read = (patterns: string[]) =>
  new Map(
    globSync(patterns, { cwd: root })
      .sort()
      .map(path => [path, uncommented(readFileSync(join(root, path), 'utf8'))]),
  )
const product = read(['lib/**/*.ts', 'bin/*.ts', 'packaging/*.ts'])
const bench = read(['bench/**/*.ts'])
const tests = read(['test/**/*.ts'])

/** The names that a list in braces takes from its file: `a` and `b` of `a, type b as c`. */
const namesIn = (list: string) =>
  list
    .split(',')
    .map(part => part.trim().replace(/^type\s+/, ''))
    .filter(part => part !== '')

/** `lib/base/ids.ts#systemIds`, for all that `files` import and pass on. */
function importsOf(files: ReadonlyMap<string, string>): Set<string> {
  const form =
    /(?:\b(?:import|export)\s+(?:type\s+)?\{([^}]*)\}\s+from\s+|\{([^{}]*)\}\s*=\s*await\s+import\(\s*)'(\.[^']+)'/g
  const found = new Set<string>()
  for (const [path, text] of files) {
    for (const [, listed, taken, file] of text.matchAll(form)) {
      for (const name of namesIn(listed ?? taken ?? '')) {
        found.add(`${posix.join(posix.dirname(path), file!)}#${name.split(/\s+as\s+|\s*:\s*/)[0]}`)
      }
    }
    for (const [, file, name] of text.matchAll(/\(await import\('(\.[^']+)'\)\)\.(\w+)/g)) {
      found.add(`${posix.join(posix.dirname(path), file!)}#${name}`)
    }
    for (const [, all, file] of text.matchAll(/\bimport \* as (\w+) from '(\.[^']+)'/g)) {
      for (const [, name] of text.matchAll(new RegExp(`\\b${all}\\.(\\w+)`, 'g'))) {
        found.add(`${posix.join(posix.dirname(path), file!)}#${name}`)
      }
    }
  }
  return found
}

interface Export {
  readonly id: string
  readonly name: string
  readonly isType: boolean
  /** From this declaration to the next one of its file. */
  readonly text: string
}

function exportsOf(path: string, text: string): Export[] {
  const declared = /^export (?:async |abstract |declare )*(const|let|function\*?|class|interface|type) (\w+)/
  const found: Export[] = text.split(/^(?=\S)(?![)}\]])/m).flatMap(part => {
    const [, kind, name] = declared.exec(part) ?? []
    if (!kind || !name) return []
    return [{ id: `${path}#${name}`, name, isType: kind === 'interface' || kind === 'type', text: part }]
  })
  for (const [, list] of text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)) {
    for (const listed of namesIn(list!)) {
      const name = listed.split(/\s+as\s+/).at(-1)!
      found.push({ id: `${path}#${name}`, name, isType: false, text: '' })
    }
  }
  return found
}

/** A limit stands beside its rule, and its tests import it. */
const bound = /^export const \w+ = (?:[\d_\s.*]+|\{[^}]*\} as const)\s*$/

t.test('every export has an importer', async t => {
  const imported = importsOf(new Map([...product, ...bench]))
  const importedByTests = importsOf(tests)
  let count = 0
  for (const [path, text] of product) {
    if (!path.startsWith('lib/') || path.endsWith('.d.ts')) continue
    const exported = exportsOf(path, text)
    for (const { id, name, isType, text } of exported) {
      count++
      const isNamedBeside = exported.some(
        other => other.id !== id && new RegExp(`\\b${name}\\b`).test(other.text),
      )
      // A type goes with the function of its file that takes or gives it; so does the schema of the same name.
      const isUsed = imported.has(id) || (isType && isNamedBeside)
      if (isUsed) t.equal(forTests[id], undefined, `${id} is not for tests alone`)
      else if (importedByTests.has(id))
        t.ok(forTests[id] ?? bound.test(text), `${id} is imported by tests alone: why?`)
      else t.fail(`${id} has no importer`)
    }
  }
  t.ok(count > 500, `${count} were looked at`)
})

t.test('every setting is read', async t => {
  const readers = [...product]
    // A rule that holds two settings to each other reads them; nothing else of lib/config does.
    .filter(([path]) => !path.startsWith('lib/config/') || path === 'lib/config/cross-check.ts')
    .map(([, text]) => text)
  for (const { path, name } of allSettings) {
    t.ok(
      readers.some(text => new RegExp(`[.{, ]${name}\\b`).test(text)),
      `something reads ${path}`,
    )
  }
})

t.test('every dependency is imported', async t => {
  const { dependencies, devDependencies, optionalDependencies, scripts } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8'),
  )
  const named = (texts: Iterable<string>, name: string) =>
    [...texts].some(text => new RegExp(`['\`/]${name}['/]`).test(text))
  for (const name of Object.keys(dependencies)) {
    t.ok(named(product.values(), name), `lib imports ${name}, or it is for tests alone`)
    t.match(
      product.get('bin/build.ts'),
      `'${name}'`,
      `${name} is not in the bundle: else it is needed to build alone`,
    )
  }
  // What the bundle has in it is needed to build, and not to run.
  const others = [...product.values(), ...tests.values(), ...bench.values()]
  const commands: Readonly<Record<string, string>> = { typescript: 'tsc', '@biomejs/biome': 'biome' }
  for (const name of Object.keys(devDependencies)) {
    const typed = /^@types\/(.*)/.exec(name)?.[1]
    if (typed === 'node') continue
    if (typed) t.ok(dependencies[typed] ?? devDependencies[typed], `${name} are types of a dependency`)
    else if (commands[name]) t.match(scripts.check, commands[name])
    else t.ok(named(others, name), `lib or a test imports ${name}`)
  }
  const launcher = readFileSync(join(root, 'bin/node'), 'utf8')
  for (const name of Object.keys(optionalDependencies)) t.match(launcher, name)
})

t.test('what tests import is declared', async t => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  for (const [path, text] of [...tests, ...bench]) {
    for (const [, name] of text.matchAll(/(?:\bfrom |\bimport\()'((?:@[\w-]+\/)?[\w.-]+)(?:\/[^']*)?'/g)) {
      if (name!.startsWith('.')) continue
      t.ok(dependencies[name!] ?? devDependencies[name!], `${path} imports ${name}`)
    }
  }
})

t.test('every problem that is declared is given somewhere', async t => {
  const giving = [...product]
    .filter(([path]) => path !== 'lib/base/problem.ts')
    // What an operation declares it does not give by that.
    .map(([, text]) => text.replaceAll(/\bproblems: \[[^\]]*\]/g, ''))
  const never = Object.keys(problems).filter(code => !giving.some(text => text.includes(`'${code}'`)))
  t.strictSame(never, [])
})
