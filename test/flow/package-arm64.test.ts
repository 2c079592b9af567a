import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { carriedNode } from '../../packaging/program.ts'
import { makePackageFor } from '../support/debian-package.ts'
import { getPeer, without } from '../support/peers.ts'
import { runProgram } from '../support/program.ts'
import { temporaryDir } from '../support/temporary-dir.ts'

/** EM_AARCH64, in the header of an ELF file. */
const arm64 = 183

t.test(
  'the package for arm64 has programs for arm64 alone, and they run',
  { skip: without('qemu-aarch64', 'libatomic-arm64', 'dpkg') },
  async t => {
    const work = temporaryDir(t)
    try {
      carriedNode('arm64', work)
    } catch (error) {
      // npm ended with an error; what it brings and is not of package-lock.json is another fault, and no reason to skip.
      if (!(error instanceof Error && 'status' in error)) throw error
      t.plan(0, 'Node for arm64 can not be had of the registry')
      return
    }
    const { deb } = await makePackageFor('arm64', work)
    const field = execFileSync('dpkg-deb', ['-f', deb, 'Architecture'], { encoding: 'utf8' })
    t.equal(field.trim(), 'arm64')

    const tree = join(work, 'unpacked')
    execFileSync('dpkg-deb', ['-x', deb, tree])
    const programs = globSync('**/*', { cwd: tree })
      .map(path => join(tree, path))
      .filter(path => statSync(path).isFile())
      .map(path => ({ path, bytes: readFileSync(path) }))
      .filter(({ bytes }) => bytes.subarray(0, 4).equals(Buffer.from('\x7fELF')))
    t.same(programs.map(({ path }) => path.slice(join(tree, 'usr/lib/mailboxd/').length)).sort(), [
      'bin/node',
      'node_modules/better-sqlite3/prebuilds/linux-arm64.node',
    ])
    for (const { path, bytes } of programs) t.equal(bytes.readUInt16LE(18), arm64, path)

    const home = join(tree, 'usr/lib/mailboxd')
    const script = join(work, 'query.cjs')
    writeFileSync(
      script,
      `const Database = require('${join(home, 'node_modules/better-sqlite3')}')
console.log(process.arch, new Database(':memory:').prepare('select 6 * 7 as answer').get().answer)`,
    )
    // In one process, for a start of Node takes seconds here.
    const { stdout, stderr } = await runProgram(
      getPeer('qemu-aarch64'),
      [
        ...['-L', '/usr/aarch64-linux-gnu', join(home, 'bin/node')],
        ...['--require', script, join(home, 'dist/bin/mailboxctl.js'), '--version'],
      ],
      '',
      { timeoutMs: 240_000 },
    )
    t.match(stdout, /^arm64 42\n\d+\.\d+\.\d+\+[0-9a-f]{12}\n$/, stderr)
  },
)
