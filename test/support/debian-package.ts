import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { makeDebianPackage } from '../../packaging/debian.ts'
import { type Architecture, makeProgram } from '../../packaging/program.ts'
import { madeOnce } from './made-once.ts'

/** As Debian calls the machine of the test. */
export const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'

/** What makeProgram gives, made once for a run: nobody changes it. */
async function programOfRun(): Promise<string> {
  const work = await madeOnce('program', async path => {
    mkdirSync(path)
    makeProgram(path)
  })
  return join(work, 'program')
}

/** The program of `npm run package` in a directory that is the test's own. */
export async function copyOfProgram(work: string): Promise<string> {
  const copy = join(work, 'program')
  cpSync(await programOfRun(), copy, { recursive: true })
  return copy
}

/** A Debian package, and what is in it. */
export interface Package {
  readonly deb: string
  readonly tree: string
}

/** Makes the Debian package of this checkout as `npm run package` does, but for the compression. @param work for what is made on the way */
export async function makePackageFor(one: Architecture, work: string): Promise<Package> {
  // Nobody waits for a small file here.
  Object.assign(process.env, { DPKG_DEB_COMPRESSOR_TYPE: 'none', SOURCE_DATE_EPOCH: '1700000000' })
  const deb = await makeDebianPackage(await programOfRun(), one, { work, to: work })
  return { deb, tree: join(work, `debian-${one}`) }
}

/** The Debian package for this machine, made once for a run: it is read alone. */
export async function packageOfRun(): Promise<Package> {
  const work = await madeOnce('package', async path => {
    mkdirSync(path)
    const { deb } = await makePackageFor(architecture, path)
    renameSync(deb, join(path, 'mailboxd.deb'))
  })
  return { deb: join(work, 'mailboxd.deb'), tree: join(work, `debian-${architecture}`) }
}

/** The same package with a version before it. @returns the path of its file, in `work` */
export function makeOlder({ tree }: Package, work: string): string {
  const copy = join(work, 'older')
  const deb = join(work, 'older.deb')
  cpSync(tree, copy, { recursive: true })
  execFileSync('sed', ['-i', 's/^Version: .*/Version: 0.0.1/', join(copy, 'DEBIAN/control')])
  execFileSync('dpkg-deb', ['-Znone', '--root-owner-group', '--build', copy, deb], { stdio: 'ignore' })
  return deb
}
