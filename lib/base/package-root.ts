import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * The directory that holds package.json, where config/ and the other data files are. Found by walking up, so
 * that it is the same from lib/ and from dist/lib/.
 */
export function packageRoot(): string {
  let directory = import.meta.dirname
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory)
    if (parent === directory) throw new Error(`no package.json above ${import.meta.dirname}`)
    directory = parent
  }
  return directory
}

/** The version that package.json says. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    version: string
  }
  return version
}

/**
 * The version, and after a plus sign which build of it this is (`0.1.0+3f2a9c01b7de`; Semantic Versioning 2.0.0 §10): two builds of one version are
 * told apart by it. What runs from its sources is no build and has the version alone.
 */
export function programVersion(): string {
  return import.meta.filename.endsWith('.ts') ? packageVersion() : `${packageVersion()}+${readBuildId()}`
}

/** See bin/build.ts. */
function readBuildId(): string {
  return readFileSync(join(packageRoot(), 'dist', 'build-id'), 'utf8').trim()
}
