import { appendFileSync, cpSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { buildOnce } from '../support/built.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = join(import.meta.dirname, '..', '..')

t.test('what is built of the same sources is not bundled again, and what is not is', async t => {
  buildOnce()
  const tree = temporaryDir(t)
  for (const name of ['bin', 'config', 'lib', 'package.json', 'dist'])
    cpSync(join(root, name), join(tree, name), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  /** What begins to bundle ends with an error. */
  const build = (...args: string[]) =>
    runProgram(process.execPath, [join(tree, 'bin/build-changed.ts'), ...args], '', {
      env: { ESBUILD_BINARY_PATH: '/bin/false' },
    })
  const copy = join(tree, 'copy')
  const first = await build(copy)
  t.equal(first.code, 0, first.stderr)
  const named = globSync('**/*.*', { cwd: copy }).concat('build-id').sort()
  t.ok(named.includes('bin/mailboxd.js') && named.includes('bin/mailboxctl.js'))
  const isSame = (name: string) =>
    readFileSync(join(copy, name)).equals(readFileSync(join(root, 'dist', name)))
  t.strictSame(named, named.filter(isSame))
  t.equal((await build()).code, 0)

  const program = join(tree, 'dist/bin/mailboxctl.js')
  const whole = readFileSync(program)
  appendFileSync(program, '\n')
  t.match(await build(), { code: 1, stderr: /esbuild|service/ }, 'what was built has changed')
  cpSync(join(root, 'dist/bin/mailboxctl.js'), program)
  t.ok(readFileSync(program).equals(whole))
  t.equal((await build()).code, 0)
  appendFileSync(join(tree, 'lib/base/ids.ts'), '// changed\n')
  t.match(await build(), { code: 1, stderr: /esbuild|service/ }, 'a source has changed')
})
