import {
  appendFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readFileSync,
  renameSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** In the place of bin/build.ts, which takes long: of two files one has what its source says. */
const bundler = `console.error('bundled')
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
const root = join(import.meta.dirname, '..')
const outdir = process.argv[2] ?? join(root, 'dist')
mkdirSync(join(outdir, 'bin'), { recursive: true })
writeFileSync(join(outdir, 'bin/program.js'), readFileSync(join(root, 'lib/room/source.ts')))
writeFileSync(join(outdir, 'build-id'), '1')
appendFileSync(join(root, 'times'), 'built ')
if (existsSync(join(root, 'typing'))) {
  appendFileSync(join(root, 'lib/room/source.ts'), '\\n')
  rmSync(join(root, 'typing'))
}
export const parts = ['bin/program.js', 'build-id']
`

t.test('what is built of the same sources is not bundled again, and what is not is', async t => {
  const tree = temporaryDir(t)
  const inTree = (name: string) => join(tree, name)
  const write = (name: string, text: string) => {
    mkdirSync(dirname(inTree(name)), { recursive: true })
    writeFileSync(inTree(name), text)
  }
  write('bin/build.ts', bundler)
  for (const name of ['bin/build-changed.ts', 'lib/base/time.ts']) {
    cpSync(join(import.meta.dirname, '../..', name), inTree(name))
  }
  for (const name of ['lib/room/source.ts', 'lib/room/inner/deep.sql', 'config/words.txt']) write(name, '1\n')
  for (const name of ['package.json', 'node_modules/.package-lock.json']) write(name, '{}\n')
  let expected = 0
  const run = async (...args: string[]) => {
    const { code, stderr } = await runProgram(process.execPath, [inTree('bin/build-changed.ts'), ...args])
    t.equal(code, 0, stderr)
    return stderr
  }
  const build = async (isBundled: boolean, what: string, ...args: string[]) => {
    const said = await run(...args)
    const words = /^mailboxd is built from its sources, which takes up to a minute\nbundled\n$/
    t.match(said, isBundled ? words : /^$/, 'it says so before it bundles')
    if (isBundled) expected++
    t.equal(readFileSync(inTree('times'), 'utf8'), 'built '.repeat(expected), what)
    t.equal(
      readFileSync(inTree('dist/bin/program.js'), 'utf8'),
      readFileSync(inTree('lib/room/source.ts'), 'utf8'),
    )
  }
  await build(true, 'there is none')
  await build(false, 'all is as it was')
  write('dist/chunks/former.js', '')
  await build(false, 'of a build before', inTree('copy'))
  t.strictSame(
    globSync('**/*', { cwd: inTree('copy') }).sort(),
    ['bin', 'bin/program.js', 'build-id'],
    'a copy has what this build made',
  )
  const longAgo = new Date(0)
  for (const name of ['bin/program.js', 'build-id', 'chunks/older.js', 'chunks/older.js.LEGAL.txt']) {
    if (name.startsWith('chunks')) write(`dist/${name}`, '')
    utimesSync(inTree(`dist/${name}`), longAgo, longAgo)
  }
  await build(false, 'of a build long ago')
  t.strictSame(
    globSync('**/*.*', { cwd: inTree('dist') }).sort(),
    ['bin/program.js', 'chunks/former.js'],
    'what an older build left is taken away, but for what a daemon may be running yet',
  )
  for (const name of [
    'lib/room/source.ts',
    'lib/room/inner/deep.sql',
    'bin/build.ts',
    'config/words.txt',
    'package.json',
    'node_modules/.package-lock.json',
    'dist/bin/program.js',
    'dist/build-id',
  ]) {
    appendFileSync(inTree(name), '\n')
    await build(true, `${name} is another`)
  }
  await build(false, 'all is as it was again')
  renameSync(inTree('config/words.txt'), inTree('config/names.txt'))
  await build(true, 'a source has another name')
  const record = readFileSync(inTree('dist/.made-of'), 'utf8')
  write('dist/.made-of', record.replace(process.version, 'v1.0.0'))
  await build(true, 'another Node made it')
  appendFileSync(inTree('lib/room/source.ts'), '\n')
  await run(inTree('elsewhere'))
  expected++
  await build(true, 'it was built elsewhere, and not here')
  write('typing', '')
  appendFileSync(inTree('lib/room/source.ts'), '\n')
  await run()
  expected++
  await build(true, 'a source was changed while it was bundled')
})
