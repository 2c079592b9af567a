import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Test } from 'tap'
import { makeDebianPackage } from '../../packaging/debian.ts'
import { makeProgram } from '../../packaging/program.ts'
import { temporaryDir } from './temporary-dir.ts'

/** As Debian calls the machine of the test. */
export const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

export interface Packages {
  /** The package as `npm run package` makes it, but for the compression. */
  readonly deb: string
  /** The same with a version before it. */
  readonly older: string
  /** What is in it. */
  readonly tree: string
}

/** Makes the Debian package of this checkout. */
export async function makePackages(t: Test): Promise<Packages> {
  const work = temporaryDir(t)
  // Nobody waits for a small file here.
  Object.assign(process.env, { DPKG_DEB_COMPRESSOR_TYPE: 'none', SOURCE_DATE_EPOCH: '1700000000' })
  const deb = await makeDebianPackage(makeProgram(work), architecture, { work, to: work })
  const tree = join(work, `debian-${architecture}`)
  const older = join(work, 'older.deb')
  execFileSync('sed', ['-i', 's/^Version: .*/Version: 0.0.1/', join(tree, 'DEBIAN/control')])
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', tree, older], { stdio: 'ignore' })
  return { deb, older, tree }
}
