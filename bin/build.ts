/**
 * Makes dist/ (or the directory that is named; `npm run build` when there is need: build-changed.ts), what is shipped and run: the programs and the entries of their worker threads, each with
 * its libraries in few files. The loading of 600 files one by one was half of a start.
 */

import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative, resolve } from 'node:path'
import { parse, type Token, tokTypes } from 'acorn'
import standalone from 'ajv/dist/standalone/index.js'
import { type BuildOptions, build, type Plugin, transformSync } from 'esbuild'
import { completions } from '../lib/cli/completions.ts'
import { declared } from '../lib/cli/operations/declared.ts'
import { ajv, check } from '../lib/config/check.ts'
import { settings } from '../lib/config/schema.ts'
import { schema } from '../lib/store/migrations/0001-schema.ts'

const root = join(import.meta.dirname, '..')
const require = createRequire(import.meta.url)
const { default: standaloneCode } = standalone
const outdir = resolve(process.argv[2] ?? join(root, 'dist'))
/**
 * What is found in node_modules when it runs: a binary for each platform, files that are read, and what `pg` and `ws` ask for
 * in case somebody has installed it.
 */
const external = [
  'better-sqlite3',
  'swagger-ui-dist',
  'pg-native',
  'pg-cloudflare',
  'bufferutil',
  'utf-8-validate',
]
/** CommonJS in a bundle of ES modules asks for these three; what stands at the top of each file is done for each, so it is as good as nothing. */
const commonJs = `const require = name => process.getBuiltinModule('node:module').createRequire(import.meta.url)(name);`
const definitions = { __filename: 'import.meta.filename', __dirname: 'import.meta.dirname' }

/** A dynamic import of CommonJS (mailauth) gives its names in Node, and in a bundle `default` alone; here it gives both. */
const namesOfCommonJs: Plugin = {
  name: 'names of CommonJS',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z@]/ }, ({ kind, path, resolveDir }) => {
      if (kind !== 'dynamic-import' || path.startsWith('node:') || external.includes(path)) return undefined
      return { path, namespace: 'names', pluginData: resolveDir }
    })
    onLoad({ filter: /.*/, namespace: 'names' }, ({ path, pluginData }) => {
      const names = Object.keys(require(path)).filter(
        name => /^[A-Za-z_$][\w$]*$/.test(name) && name !== 'default',
      )
      const contents = `import all from ${JSON.stringify(path)}; export default all; export const { ${names.join(', ')} } = all`
      return { contents, resolveDir: pluginData, loader: 'js' }
    })
  },
}

/**
 * A static import of node:http makes a namespace of all that it exports, and so loads undici (40 ms, 16 MB). Asked for like
 * this, Node loads only what is used.
 */
const httpWhenUsed: Plugin = {
  name: 'http when used',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(node:)?https?$/ }, ({ kind, path }) =>
      kind === 'import-statement' ? { path: path.replace('node:', ''), namespace: 'builtin' } : undefined,
    )
    onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('node:${path}')`,
      loader: 'js',
    }))
  },
}

/**
 * What is computed of declarations alone is computed here: the schema of the settings is plain data, and its validator the code that ajv makes
 * of it; what mailboxctl is told of operations, and its completions, are data. To make them at each call took most of its time.
 */
const madeHere: Plugin = {
  name: 'made here',
  setup({ onLoad }) {
    const file = (name: string) => join(root, 'lib', name)
    const made: Record<string, () => string> = {
      [file('config/schema.ts')]: () => `export const settings = ${JSON.stringify(settings)}`,
      [file('config/check.ts')]: () => compiledAtOnce(standaloneCode(ajv, check)),
      [file('cli/operations/declared.ts')]: () => `export const declared = ${JSON.stringify(declared)}`,
      [file('cli/completions.ts')]: () => `export const completions = ${JSON.stringify(completions)}`,
      [file('store/migrations/0001-schema.ts')]: () => `export const schema = ${JSON.stringify(schema)}`,
    }
    onLoad({ filter: /\/lib\/(config|cli|store)\/.*\.ts$/ }, ({ path }) => {
      const contents = made[path]?.()
      return contents === undefined ? undefined : { contents, loader: 'js' }
    })
  },
}

/**
 * The validator in brackets: a function that stands so is compiled with its file, and is in the compile cache. What is compiled when it is
 * called first is not, and this is called at each start: 18 ms. Of its 310 kB a fifth is names, which nobody reads.
 */
function compiledAtOnce(code: string): string {
  const [named, begin] = [
    'export const validate = validate0;export default validate0;',
    'function validate0(',
  ]
  const at = code.indexOf(begin)
  if (!code.includes(named) || at < 0) throw new Error('ajv writes its code in another way than it did')
  const whole = `${code.slice(0, at).replace(named, '')}const validate0 = (${code.slice(at)}); export { validate0 as check }`
  return transformSync(whole, { minify: true }).code
}

/**
 * The code with what its regular expressions have beyond ASCII written as escapes; elsewhere esbuild does so. One such letter has V8 keep two
 * bytes for each of the whole file, and read it several times as slowly.
 */
function inAscii(code: string): string {
  const patterns: Token[] = []
  const onToken = (token: Token) => void (token.type === tokTypes.regexp && patterns.push(token))
  parse(code, { ecmaVersion: 'latest', sourceType: 'module', onToken })
  let written = ''
  let from = 0
  for (const { start, end } of patterns) {
    written += code.slice(from, start) + code.slice(start, end).replaceAll(/[^\0-\x7f]/g, escaped)
    from = end
  }
  return written + code.slice(from)
}

/** Of one half of a letter: two in a row are that letter again, with the flag u, too. */
const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

function threadEntries(): string[] {
  const sources = globSync('lib/**/*.ts', { cwd: root }).map(path => readFileSync(join(root, path), 'utf8'))
  const named = sources.flatMap(text => [...text.matchAll(/threadEntry\('([^']+)'\)/g)])
  return [...new Set(named.map(([, name]) => `lib/${name}.ts`))]
}

const plugins = [namesOfCommonJs, httpWhenUsed, madeHere]

/**
 * The daemon, the entries of its worker threads, and mailboxctl are bundled apart: several entries of one bundle share many small
 * files, and each file adds about a millisecond to a start.
 */
const programs: readonly BuildOptions[] = [
  { entryPoints: ['bin/mailboxd.ts'], external, plugins },
  { entryPoints: threadEntries(), external, plugins },
  { entryPoints: ['bin/mailboxctl.ts'], external, plugins },
]

async function buildProgram(program: BuildOptions): Promise<string[]> {
  const { metafile, outputFiles } = await build({
    ...program,
    absWorkingDir: root,
    outbase: '.',
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    chunkNames: 'chunks/[name]-[hash]',
    // Two packages each bring a table of all media types; one of them is enough.
    alias: { 'mime-db': require.resolve('mime-db') },
    banner: { js: commonJs },
    define: definitions,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'linked',
    logLevel: 'warning',
    metafile: true,
    write: false,
  })
  for (const { path, contents, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true })
    const isAscii = contents.length === text.length
    writeFileSync(path, isAscii || !path.endsWith('.js') ? contents : inAscii(text))
  }
  return Object.keys(metafile.outputs)
}

/** Of what was bundled, so that the same sources have the same on each machine, and a change of them another: that of git says nothing of what was not committed. */
function buildId(files: readonly string[]): string {
  const hash = createHash('sha256')
  const inOrder = files
    .map(path => [relative(outdir, path), path] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, path] of inOrder) {
    const contents = readFileSync(path)
    hash.update(`${name} ${contents.length}\n`).update(contents)
  }
  return hash.digest('hex').slice(0, 12)
}

const built = await Promise.all(programs.map(buildProgram))
const outputs = new Set(built.flat().map(path => resolve(root, path)))
writeFileSync(join(outdir, 'build-id'), `${buildId([...outputs])}\n`)
/** The files of this build, by their path in the directory. */
export const parts = [...outputs, join(outdir, 'build-id')].map(path => relative(outdir, path)).sort()
