import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readSources, root } from './source-tree.ts'

const sources = readSources()

/** What stands in one place each, and where. */
const onePlace: [what: RegExp, places: readonly string[]][] = [
  [/\bDate\.now\(|\bnew Date\(\)/, ['lib/base/time.ts']],
  [/\bperformance\.now\(/, ['lib/base/time.ts']],
  [/\bprocess\.env\b/, ['bin/']],
  [/['"]node:dns/, ['lib/courier/dns.ts', 'lib/base/network.ts']],
  // What is said to people goes through the one place that takes the commands to a terminal out of it.
  [/\bprocess\.(?:stdout|stderr)\.write\(|\bconsole\./, ['lib/cli/progress.ts', 'bin/']],
  [/\bMath\.random\b/, ['lib/serve.ts', 'lib/cli/open.ts', 'lib/courier/']],
]

t.test('time, environment, DNS and chance come in from outside', async t => {
  for (const { path, text } of sources) {
    const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*/g, '')
    for (const [what, places] of onePlace) {
      if (what.test(code) && !places.some(place => path.startsWith(place))) t.fail(`${path} uses ${what}`)
    }
  }
  t.pass('all were looked at')
})

t.test('a worker thread begins with a file that the build finds', async t => {
  for (const { path, text } of sources) {
    for (const [, entry] of text.matchAll(/\bnew Worker\(([^,]*)/g)) {
      t.match(entry, /^threadEntry\('[\w/-]+'\)$/, path)
    }
  }
})

/** The steps of the schema have a ledger of their own, and the full-text index is no table. */
const insertPlaces = [
  'lib/store/dialect/insert.ts',
  'lib/store/migrations/',
  'lib/store/search/full-text.ts',
  // Any table, with rows as another database has them.
  'lib/store/moving/',
]

t.test('at the top there is nothing but the rooms of the house', async t => {
  const rooms = ['bench', 'bin', 'config', 'docs', 'lib', 'packaging', 'systemd', 'test']
  // What npm, the build, the tests and a trial make, of which nothing is kept.
  const made = ['node_modules', 'dist', 'packages', 'mailboxd-data']
  const found = globSync('*/', { cwd: root }).map(name => name.replace('/', ''))
  t.strictSame(
    found.filter(name => ![...rooms, ...made].includes(name)),
    [],
  )
})

t.test('SQL stands in store only', async t => {
  for (const { path, text } of sources) {
    if (path.startsWith('lib/store/')) continue
    if (/\.(selectFrom|insertInto|updateTable|deleteFrom)\(|\bsql`/.test(text)) t.fail(`${path} has SQL`)
  }
  t.pass('all were looked at')
})

t.test('there is one way to insert a row, and one to refuse a request for what it says', async t => {
  for (const { path, text } of sources) {
    if (/\.insertInto\(|\binsert into\b/.test(text) && !insertPlaces.some(place => path.startsWith(place))) {
      t.fail(`${path} inserts by itself: lib/store/dialect/insert.ts does`)
    }
    if (/new Problem\(\s*'invalid_request',/.test(text) && path !== 'lib/base/problem.ts') {
      t.fail(`${path} makes an invalid_request by itself: invalidRequest does`)
    }
  }
  t.pass('all were looked at')
})

t.test('no name that could hold anything', async t => {
  for (const { path } of sources) t.notMatch(path, /(util|helper|common|manager|service|misc)/)
})

t.test('no default exports, enums or escapes', async t => {
  for (const { path, text } of sources) {
    t.notMatch(
      text,
      /^export default|^(export )?(const )?enum |@ts-ignore|@ts-expect-error|biome-ignore/m,
      path,
    )
  }
})

t.test('the tests mirror lib', async t => {
  for (const path of globSync('test/**/*.test.ts', { cwd: root })) {
    const [, folder] = path.split('/')
    if (['flow', 'fuzz', 'rules', 'peers.test.ts'].includes(folder!)) continue
    t.ok(existsSync(join(root, 'lib', folder!)), `${path} stands beside lib/${folder}`)
  }
})

/** What measures time, and what waits for nothing but time. */
const timing =
  /\bperformance\.now\(|\bhrtime\b|\bmonitorEventLoopDelay\b|\bDate\.now\(\) -|\bsetTimeout\(|\bsetTimeout\b.*'node:timers\/promises'/

t.test('no test asserts how long something takes, or sleeps', async t => {
  for (const path of globSync('test/**/*.test.ts', { cwd: root })) {
    const found = timing.exec(readFileSync(join(root, path), 'utf8'))
    t.equal(found?.[0], undefined, `${path}: see test/support/hostile.ts, event-loop.ts and until.ts`)
  }
})

t.test('no file names a path of a build machine, or the host of a registry', async t => {
  const tracked = globSync(
    [
      'lib/**',
      'bin/**',
      'test/**',
      'config/**',
      'systemd/**',
      'packaging/**',
      'bench/**',
      'docs/**',
      '*.md',
      '*.json',
    ],
    {
      cwd: root,
      withFileTypes: true,
      exclude: ['node_modules/**'],
    },
  ).filter(entry => entry.isFile())
  for (const entry of tracked) {
    const text = readFileSync(join(entry.parentPath, entry.name), 'latin1')
    t.notMatch(text, new RegExp(['registry', 'npmjs'].join('\\.')), entry.name)
    t.notMatch(text, new RegExp(`["' ]/${'work'}/`), entry.name)
  }
})
