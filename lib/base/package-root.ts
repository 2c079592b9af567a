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
