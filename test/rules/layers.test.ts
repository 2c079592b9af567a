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
  reading: ['base', 'mail', 'blob', 'courier', 'store'],
  rendering: ['base', 'mail', 'blob', 'reading'],
  core: ['base', 'config', 'model', 'mail', 'blob', 'courier', 'store', 'queue', 'reading', 'rendering'],
  tls: ['base'],
  smtpd: ['base', 'mail', 'core', 'tls'],
  api: ['base', 'model', 'core'],
  http: ['base', 'api', 'core'],
  metrics: ['base', 'core'],
  cli: ['base', 'config', 'model', 'api', 'core', 'tls'],
}

/**
 * The rooms of a layer, each a folder, from the innermost to the outermost: a room imports only from those before it, types
 * included. `.` are the files that stand in the layer itself.
 */
const rooms: Record<string, readonly string[]> = {
  mail: [
    'address',
    'header',
    'quote',
    'text',
    'tnef',
    'report',
    'message',
    'compose',
    'signature',
    'authentication',
    'domain',
  ],
  courier: ['.', 'scanner', 'encryption', 'smtp', 'webhook'],
  reading: ['.', 'attachment'],
  store: ['dialect', 'transactions', 'postgres', 'search', 'migrations', '.', 'moving'],
  tls: ['.', 'acme'],
  core: [
    'nodes',
    'app',
    'mailbox',
    'events',
    'domains',
    'policy',
    'quota',
    'outbound',
    'forwarding',
    'inbound',
    'delivery',
    'webhooks',
    'drafts',
    'account',
    'submission',
    'backup',
    '.',
    'doctor',
  ],
}

/** How many files a room has side by side at the most; beyond that a stranger does not find the rule. */
const filesInARoom = 20

/** Where each package is met, and nowhere else. */
const places: Record<string, readonly string[]> = {
  kysely: ['lib/store/'],
  'better-sqlite3': [
    'lib/store/dialect/sqlite.ts',
    'lib/store/dialect/lock.ts',
    'lib/store/migrations/expected-schema.ts',
    'lib/store/dialect/checkpointer.ts',
    'lib/store/dialect/snapshot-worker.ts',
    'lib/store/dialect/integrity.ts',
  ],
  'tar-stream': ['lib/blob/archive.ts'],
  pg: ['lib/store/postgres/'],
  'smtp-server': ['lib/smtpd/'],
  selfsigned: ['lib/tls/self-signed.ts'],
  nodemailer: ['lib/mail/compose/', 'lib/courier/smtp/'],
  mailauth: ['lib/mail/authentication/'],
  tldts: ['lib/mail/domain/registrable.ts'],
  'html-to-text': ['lib/mail/text/html'],
  htmlparser2: ['lib/blob/bucket/answers.ts', 'lib/mail/text/html', 'lib/reading/attachment/markup.ts'],
  aws4fetch: ['lib/blob/bucket/s3.ts'],
  'iconv-lite': ['lib/mail/header/charset.ts'],
  jschardet: ['lib/mail/header/charset-guess.ts'],
  unpdf: ['lib/reading/attachment/pdf.ts'],
  yauzl: ['lib/reading/attachment/archive.ts'],
  '@koa/router': ['lib/http/router.ts'],
  koa: ['lib/http/'],
  'ipaddr.js': [
    'lib/base/network.ts',
    'lib/http/client-address.ts',
    'lib/config/',
    'lib/courier/address-guard.ts',
  ],
  undici: [
    'lib/blob/bucket/s3.ts',
    'lib/courier/https-get.ts',
    'lib/courier/webhook/connection.ts',
    'lib/courier/scanner/rspamd.ts',
    'lib/tls/acme/http.ts',
  ],
  '@peculiar/x509': ['lib/tls/acme/order.ts'],
  'dns-packet': ['lib/courier/encryption/'],
  ws: ['lib/http/websocket'],
  ajv: ['lib/api/validate.ts', 'lib/config/'],
  commander: ['lib/cli/'],
  'node-cron': ['lib/upkeep.ts'],
  'prom-client': ['lib/metrics/registry.ts'],
  pino: ['lib/base/log.ts'],
  uuid: ['lib/base/ids.ts'],
  'smol-toml': ['lib/config/toml.ts'],
  typebox: ['lib/model/', 'lib/api/', 'lib/config/', 'lib/http/'],
}

const sources = readSources()
const folderOf = (path: string) => path.split('/')[1]!
/** The room of a file: its folder within the layer, or `.`; the one list of rows is for all rooms of the store. */
const roomOf = (path: string) => {
  const [, , room, file] = path.split('/')
  if (path === 'lib/store/tables.ts') return 'dialect'
  return file === undefined ? '.' : room!
}
const isTop = (path: string) => /^(lib\/[a-z]+\.ts|bin\/)/.test(path)

t.test('these rules see all sources and their imports', async t => {
  t.ok(sources.length > 100)
  t.ok(
    sources.some(
      source =>
        source.path === 'lib/reading/read-mail.ts' && source.files.includes('lib/mail/message/read.ts'),
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

t.test('within a layer, rooms import one way, types too', async t => {
  for (const { path, files } of sources) {
    const order = rooms[folderOf(path)]
    if (!order || isTop(path)) continue
    const own = order.indexOf(roomOf(path))
    t.ok(own >= 0, `${path} is in a room`)
    for (const file of files) {
      if (isTop(file) || folderOf(file) !== folderOf(path)) continue
      const other = order.indexOf(roomOf(file))
      if (other < 0 || other > own) t.fail(`${path} must not import ${file}`)
    }
  }
})

t.test('a room is small enough to be looked over', async t => {
  const counts = new Map<string, number>()
  for (const { path } of sources) {
    const room = path.slice(0, path.lastIndexOf('/'))
    if (rooms[folderOf(path)] && room.split('/').length > 2) counts.set(room, (counts.get(room) ?? 0) + 1)
  }
  t.ok(counts.size > 20)
  // Each step of the schema is a file.
  counts.delete('lib/store/migrations')
  for (const [room, count] of counts) t.ok(count <= filesInARoom, `${room} has ${count} files`)
})

t.test('no file is in a ring of imports, types included', async t => {
  const graph = new Map(sources.map(source => [source.path, source.files]))
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path)) {
      t.fail(`a ring: ${[...trail.slice(trail.indexOf(path)), path].join(' → ')}`)
      return
    }
    if (done.has(path)) return
    for (const file of graph.get(path) ?? []) visit(file, [...trail, path])
    done.add(path)
  }
  for (const { path } of sources) visit(path, [])
  t.ok(done.size > 100)
})

t.test('each package is met in its place', async t => {
  for (const { path, packages } of sources) {
    if (isTop(path) && !path.startsWith('lib/upkeep')) {
      for (const name of packages) {
        if (!name.startsWith('node:') && !(/^(acorn|esbuild|ajv)\b/.test(name) && path === 'bin/build.ts'))
          t.fail(`${path} must not import ${name}`)
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
