import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { run } from './program.ts'

const root = join(import.meta.dirname, '..')

/** The tarball that `npm install -g` takes, in `to`: the program, with the libraries that are not in it left to npm. */
export function makeNpmPackage(program: string, to: string): string {
  // The launcher of Node that looks for the package of the platform; Debian's package has Node itself in its place.
  cpSync(join(root, 'bin/node'), join(program, 'bin/node'))
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', to], program)) as {
    filename: string
  }[]
  return join(to, packed!.filename)
}
