import { chmodSync, cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

const root = join(import.meta.dirname, '../..')
/** A processor that this machine does not have, so that its library is not at the usual place either. */
const other =
  process.arch === 'arm64' ? { machine: 'x86_64', name: 'x64' } : { machine: 'aarch64', name: 'arm64' }
const loader = (library: string) =>
  `echo "node: error while loading shared libraries: ${library}: cannot open shared object file" >&2; exit 127`

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
  const env = { PATH: `${join(dir, 'path')}:/usr/bin:/bin`, npm_node_execpath: join(dir, 'path/node') }
  return runProgram(join(dir, 'bin/node'), ['a b', '-c'], '', { env })
}

const version = (major: number) => `[ "$1" = -p ] && echo ${major} || echo "system $*"`

t.test('a Node that lacks libatomic is reported in one sentence with the command', async t => {
  t.strictSame(await runNode(t, loader('libatomic.so.1'), version(18)), {
    code: 78,
    stdout: '',
    stderr: 'mailboxd needs libatomic1: apt install libatomic1\n',
  })
  t.strictSame(await runNode(t, loader('libatomic.so.1'), version(24)), {
    code: 0,
    stdout: 'system a b -c\n',
    stderr: '',
  })
})

t.test('the Node that comes with mailboxd is preferred, wherever its libraries are', async t => {
  t.match(await runNode(t, 'echo "carried $*"', version(30)), { code: 0, stdout: 'carried a b -c\n' })
})

t.test('without a Node that runs, it says what to do', async t => {
  t.match(await runNode(t, loader('libstdc++.so.6'), version(18)), {
    code: 78,
    stderr: /^mailboxd needs Node 24 or newer: install it, .* \(node: error .*libstdc\+\+\.so\.6.*\)\n$/,
  })
  t.match(await runNode(t, undefined, version(18)), {
    code: 78,
    stderr: 'mailboxd needs Node 24 or newer and found 18; run: npm ci\n',
  })
})
