/**
 * `npm run package [-- amd64 arm64 npm]`: makes what is shipped in packages/, the Debian package of each architecture and the
 * tarball for npm; without names all three. See HACKING.md, "Packages".
 */

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeDebianPackage } from './debian.ts'
import { makeNpmPackage } from './npm.ts'
import { isArchitecture, makeProgram } from './program.ts'

const root = join(import.meta.dirname, '..')
const made = ['amd64', 'arm64', 'npm']
const wanted = process.argv.slice(2)
const unknown = wanted.find(name => !made.includes(name))
if (unknown !== undefined) {
  console.error(`there is no package "${unknown}"; these can be made: ${made.join(', ')}`)
  process.exit(2)
}

const to = join(root, 'packages')
mkdirSync(to, { recursive: true })
// The same commit gives the same bytes.
const committed = spawnSync('git', ['-C', root, 'log', '-1', '--format=%ct'], {
  encoding: 'utf8',
}).stdout?.trim()
process.env.SOURCE_DATE_EPOCH ??=
  committed || String(Math.floor(statSync(join(root, 'CHANGELOG.md')).mtimeMs / 1000))
// Debian takes no zstd, which is the default of dpkg elsewhere.
process.env.DPKG_DEB_COMPRESSOR_TYPE ??= 'xz'

/** It takes minutes, and each step some of them. */
const tell = (step: string) => console.error(`${step} …`)

const work = mkdtempSync(join(tmpdir(), 'mailboxd-package-'))
try {
  tell('building the program')
  const program = makeProgram(work)
  for (const name of wanted.length > 0 ? wanted : made) {
    tell(isArchitecture(name) ? `packing it for Debian ${name}` : 'packing it for npm')
    const file = isArchitecture(name)
      ? await makeDebianPackage(program, name, { work, to })
      : makeNpmPackage(program, to)
    console.log(`${file}  ${(statSync(file).size / 1e6).toFixed(1)} MB`)
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
