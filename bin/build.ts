/**
 * `npm run build`: makes dist/ (or the directory that is named), what is shipped and run: the programs and the entries of their worker threads, each with
 * its libraries in few files. The loading of 600 files one by one was half of a start.
 */

import { globSync, readFileSync, rmSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import standalone from 'ajv/dist/standalone/index.js'
import { build, type Plugin } from 'esbuild'
import { completions } from '../lib/cli/completions.ts'
import { declared } from '../lib/cli/operations/declared.ts'
import { ajv, check } from '../lib/config/check.ts'
import { settings } from '../lib/config/schema.ts'

const root = join(import.meta.dirname, '..')
const require = createRequire(import.meta.url)
const { default: standaloneCode } = standalone
const outdir = resolve(process.argv[2] ?? join(root, 'dist'))
/**
 * What begins: the daemon with every file that a worker thread begins with, which have their libraries in common; and mailboxctl by
 * itself, for what is common to many is cut into many files, and a call takes a millisecond for each.
 */
const programs = [['bin/mailboxd.ts', ...threadEntries()], ['bin/mailboxctl.ts']]
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
 * An import of node:http makes a namespace of all that it exports, and so loads undici of Node (40 ms, 16 MB); this way of
 * asking for it takes what is used.
 */
const builtinWhenUsed: Plugin = {
  name: 'builtin when used',
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
      [file('config/check.ts')]: () => `${standaloneCode(ajv, check)}; export { validate as check }`,
      [file('cli/operations/declared.ts')]: () => `export const declared = ${JSON.stringify(declared)}`,
      [file('cli/completions.ts')]: () => `export const completions = ${JSON.stringify(completions)}`,
    }
    onLoad({ filter: /\/lib\/(config|cli)\/.*\.ts$/ }, ({ path }) => {
      const contents = made[path]?.()
      return contents === undefined ? undefined : { contents, loader: 'js' }
    })
  },
}

function threadEntries(): string[] {
  const sources = globSync('lib/**/*.ts', { cwd: root }).map(path => readFileSync(join(root, path), 'utf8'))
  const named = sources.flatMap(text => [...text.matchAll(/threadEntry\('([^']+)'\)/g)])
  return [...new Set(named.map(([, name]) => `lib/${name}.ts`))]
}

/** How long the parts of former builds stay: a daemon that was started from one may load some of them yet. */
const keptMs = 86_400_000

async function buildProgram(entryPoints: string[]): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    outbase: '.',
    outdir,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    chunkNames: 'chunks/[name]-[hash]',
    external,
    // Two packages each bring a table of all media types; one of them is enough.
    alias: { 'mime-db': require.resolve('mime-db') },
    plugins: [namesOfCommonJs, builtinWhenUsed, madeHere],
    banner: { js: commonJs },
    define: definitions,
    minifyWhitespace: true,
    minifySyntax: true,
    legalComments: 'linked',
    logLevel: 'warning',
    metafile: true,
  })
  return Object.keys(metafile.outputs)
}

const built = await Promise.all(programs.map(buildProgram))
const outputs = new Set(built.flat().map(path => resolve(root, path)))
const builtAtMs = statSync(join(outdir, 'bin/mailboxd.js')).mtimeMs
for (const file of globSync('**/*.js', { cwd: outdir })) {
  const path = join(outdir, file)
  if (!outputs.has(path) && statSync(path).mtimeMs < builtAtMs - keptMs) rmSync(path)
}
