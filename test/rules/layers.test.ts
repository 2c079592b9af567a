import t from 'tap'
import { readSources } from './source-tree.ts'

/** Which folder of lib may import which (HACKING.md, "The layers"). */
const layers: Record<string, readonly string[]> = {
  base: [],
  config: ['base'],
  model: ['base'],
  mail: ['base'],
  blob: ['base'],
  courier: ['base', 'mail'],
  store: ['base', 'model'],
  queue: ['base', 'store'],
  core: ['base', 'config', 'model', 'mail', 'blob', 'courier', 'store', 'queue'],
  smtpd: ['base', 'mail', 'core'],
  api: ['base', 'model', 'core'],
  http: ['base', 'api', 'core'],
  cli: ['base', 'config', 'model', 'api', 'core'],
}

/** Where each package is met, and nowhere else. */
const places: Record<string, readonly string[]> = {
  kysely: ['lib/store/'],
  'better-sqlite3': ['lib/store/sqlite.ts', 'lib/store/lock.ts'],
  pg: ['lib/store/postgres.ts'],
  'smtp-server': ['lib/smtpd/'],
  selfsigned: ['lib/smtpd/self-signed.ts'],
  nodemailer: ['lib/mail/compose.ts', 'lib/mail/attachment-part.ts', 'lib/courier/smtp-'],
  mailparser: ['lib/mail/parse.ts', 'lib/mail/attachment.ts', 'lib/mail/mailparser.d.ts'],
  mailauth: ['lib/mail/authentication.ts', 'lib/mail/authentication-policy.ts'],
  tldts: ['lib/mail/registrable-domain.ts'],
  'html-to-text': ['lib/mail/html'],
  htmlparser2: ['lib/mail/html'],
  '@koa/router': ['lib/http/router.ts'],
  koa: ['lib/http/'],
  '@koa/bodyparser': ['lib/http/body.ts'],
  'ipaddr.js': [
    'lib/base/network.ts',
    'lib/http/client-address.ts',
    'lib/config/',
    'lib/courier/address-guard.ts',
  ],
  undici: ['lib/courier/webhook-connection.ts'],
  ws: ['lib/http/websocket'],
  ajv: ['lib/http/validate.ts', 'lib/config/'],
  commander: ['lib/cli/'],
  'node-cron': ['lib/upkeep.ts'],
  pino: ['lib/base/log.ts'],
  uuid: ['lib/base/ids.ts'],
  'smol-toml': ['lib/config/toml.ts'],
  typebox: ['lib/model/', 'lib/api/', 'lib/config/', 'lib/http/'],
}

const sources = readSources()
const folderOf = (path: string) => path.split('/')[1]!
const isTop = (path: string) => /^(lib\/[a-z]+\.ts|bin\/)/.test(path)

t.test('the sources are read', async t => {
  t.ok(sources.length > 100)
  t.ok(
    sources.some(
      source => source.path === 'lib/core/receive.ts' && source.files.includes('lib/mail/parse.ts'),
    ),
  )
})

t.test('imports go one way', async t => {
  for (const { path, files } of sources) {
    if (isTop(path)) continue
    const allowed = layers[folderOf(path)]
    t.ok(allowed, `${path} is in a layer`)
    for (const file of files) {
      const isRight = !isTop(file) && (folderOf(file) === folderOf(path) || allowed?.includes(folderOf(file)))
      if (!isRight) t.fail(`${path} must not import ${file}`)
    }
  }
})

t.test('no file is in a ring of imports', async t => {
  const graph = new Map(sources.map(source => [source.path, source]))
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      t.fail(`a ring: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
      return
    }
    if (done.has(path)) return
    for (const file of graph.get(path)?.files ?? []) {
      // A type vanishes when the code runs; a ring of types alone is harmless.
      if (!isTypeOnly(path, graph.get(path)!.text, file)) visit(file, [...trail, path])
    }
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  t.equal(done.size > 0, true)
})

function isTypeOnly(path: string, text: string, file: string): boolean {
  const name = file.split('/').at(-1)!.replaceAll('.', '\\.')
  // Another folder may have a file of the same name.
  const folder = folderOf(path) === folderOf(file) ? '\\.' : folderOf(file)
  const from = new RegExp(`(import|export)( type)?[^'"]*['"][^'"]*${folder}/${name}['"]`, 'g')
  const imports = [...text.matchAll(from)]
  return imports.length > 0 && imports.every(match => match[2] !== undefined)
}

t.test('each package is met in its place', async t => {
  for (const { path, packages } of sources) {
    if (isTop(path) && !path.startsWith('lib/upkeep')) {
      for (const name of packages) {
        if (!name.startsWith('node:')) t.fail(`${path} must not import ${name}`)
      }
      continue
    }
    for (const name of packages) {
      if (name.startsWith('node:')) continue
      const places_ = places[name.split('/')[0]!.startsWith('@') ? name : name.split('/')[0]!]
      if (!places_?.some(place => path.startsWith(place))) t.fail(`${name} is not met in ${path}`)
    }
  }
  t.pass('all were looked at')
})
