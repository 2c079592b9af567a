import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = join(import.meta.dirname, '../..')
const triplets = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' } as const
const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
/** A processor that this machine does not have, so that its library is not at the usual place either. */
const other =
  arch === 'arm64'
    ? ({ machine: 'x86_64', name: 'x64' } as const)
    : ({ machine: 'aarch64', name: 'arm64' } as const)

/** Runs a copy of bin/node on a machine with this carried Node and this one of its own (shell scripts). */
function runNode(t: Test, carried: string | undefined, system: string) {
  const dir = temporaryDir(t)
  const put = (path: string, script: string) => {
    mkdirSync(dirname(join(dir, path)), { recursive: true })
    writeFileSync(join(dir, path), `#!/bin/sh\n${script}\n`)
    chmodSync(join(dir, path), 0o755)
  }
  mkdirSync(join(dir, 'bin'))
  cpSync(join(root, 'bin/node'), join(dir, 'bin/node'))
  put('path/uname', `[ "$1" = -s ] && echo Linux || echo ${other.machine}`)
  put('path/node', system)
  if (carried) put(`node_modules/node-linux-${other.name}/bin/node`, carried)
  return runProgram(join(dir, 'bin/node'), ['a b', '-c'], '', {
    // Where the library is missing, this process has it from bin/node, too.
    env: { PATH: `${join(dir, 'path')}:/usr/bin:/bin`, LD_LIBRARY_PATH: '' },
  })
}

const version = (major: number) => `[ "$1" = -p ] && echo ${major} || echo "system $*"`

t.test(
  'where libatomic is missing, the Node that comes with mailboxd gets the library that does',
  async t => {
    const { code, stdout } = await runNode(t, 'echo "carried $* $LD_LIBRARY_PATH"', version(30))
    t.equal(code, 0)
    t.match(stdout, /^carried a b -c \/.*\/bin\/libatomic\//)
    t.ok(stdout.endsWith(`/${triplets[other.name]}\n`))
  },
)

/** Has Node make and drop WebAssembly in several threads at once, for which it needs the library. */
const workout = `
const { Worker, isMainThread } = require('node:worker_threads')
const compiled = new WebAssembly.Module(Buffer.from('AGFzbQEAAAABBgFgAX8BfwMCAQAEBQFwAQEBBw0CAWYAAAV0YWJsZQEACQcBAEEACwEACgkBBwAgAEEBags=', 'base64'))
for (let n = 0; n < 2000; n++) {
  const { f, table } = new WebAssembly.Instance(compiled).exports
  if (f(n) !== n + 1 || table.get(0)(n) !== n + 1) throw new Error('wrong')
}
if (isMainThread) {
  for (let n = 0; n < 4; n++) new Worker(__filename)
  const used = /\\S*libatomic\\S*/.exec(require('node:fs').readFileSync('/proc/self/maps', 'utf8'))[0]
  process.on('exit', code => code === 0 && console.log(used))
}
`

t.test('Node works with that library', { skip: process.platform !== 'linux' && 'needs Linux' }, async t => {
  const file = join(temporaryDir(t), 'workout.cjs')
  writeFileSync(file, workout)
  const library = join(root, 'bin/libatomic', triplets[arch])
  const env = { ...process.env, LD_LIBRARY_PATH: library }
  const { code, stdout, stderr } = await runProgram(process.execPath, [file], '', { env })
  t.strictSame([code, stdout, stderr], [0, `${library}/libatomic.so.1\n`, ''])
})

t.test('without a Node that is new enough, it says what to do', async t => {
  t.match(await runNode(t, undefined, version(24)), { code: 0, stdout: 'system a b -c\n' })
  t.match(await runNode(t, undefined, version(18)), {
    code: 78,
    stderr: 'mailboxd needs Node 24 or newer and found 18; run: npm ci\n',
  })
})
