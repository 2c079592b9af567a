import { globSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'

export const root = join(import.meta.dirname, '..', '..')

/** A source file: its path from the root, its text, and what it imports: files as paths from the root, packages by name. */
export interface SourceFile {
  readonly path: string
  readonly text: string
  readonly files: readonly string[]
  readonly packages: readonly string[]
}

const importForm =
  /(?:^|\n)(?:import|export)\b[^;'"`]*?\bfrom\s+'([^']+)'|(?:^|\n)import\s+'([^']+)'|\bimport\(\s*'([^']+)'/g

/** All TypeScript of lib and bin. */
export function readSources(): SourceFile[] {
  return globSync(['lib/**/*.ts', 'bin/*.ts'], { cwd: root }).sort().map(readSource)
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8')
  const specifiers = [...text.matchAll(importForm)].map(match => match[1] ?? match[2] ?? match[3]!)
  const isFile = (specifier: string) => specifier.startsWith('.')
  return {
    path,
    text,
    files: specifiers.filter(isFile).map(specifier => posix.join(dirname(path), specifier)),
    packages: specifiers
      .filter(specifier => !isFile(specifier))
      .map(specifier => (specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier)),
  }
}
