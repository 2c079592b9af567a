import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { arch } from 'node:process'

const root = join(import.meta.dirname, '..')

/** The names of Debian, and what Node calls the same. */
const architectures = { amd64: 'x64', arm64: 'arm64' } as const
export type Architecture = keyof typeof architectures

export function isArchitecture(name: string): name is Architecture {
  return name in architectures
}

export interface PackageManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly type: string
  readonly optionalDependencies: Readonly<Record<string, string>>
}

export const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageManifest

/** Runs a command of the build; its failure ends the build with what it said. */
export function run(command: string, args: readonly string[], cwd = root): string {
  return execFileSync(command, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/**
 * The built program without what former builds left, and without what depends on the machine that it runs on.
 * @returns its directory: bin/, dist/, config/, package.json
 */
export function makeProgram(work: string): string {
  const to = join(work, 'program')
  run(process.execPath, [join(root, 'bin/build-changed.ts'), join(to, 'dist')])
  cpSync(join(root, 'config'), join(to, 'config'), { recursive: true })
  mkdirSync(join(to, 'bin'))
  for (const name of ['mailboxd', 'mailboxctl']) cpSync(join(root, 'bin', name), join(to, 'bin', name))
  for (const name of ['package.json', 'LICENSE', 'README.md', 'CHANGELOG.md'])
    cpSync(join(root, name), join(to, name))
  return to
}

/** The program with all that it needs to run on one architecture of Linux, Node as well, as `to`. */
export function installProgram(program: string, to: string, architecture: Architecture, work: string): void {
  cpSync(program, to, { recursive: true, filter: path => !/\/(README|CHANGELOG)\.md$|\/LICENSE$/.test(path) })
  const { name, version, type } = manifest
  writeFileSync(join(to, 'package.json'), `${JSON.stringify({ name, version, type })}\n`)
  const node = join(to, 'bin/node')
  cpSync(join(carriedNode(architecture, work), 'bin/node'), node)
  chmodSync(node, 0o755)
  stripSymbols(node, architecture)
  const target = architectures[architecture]
  installFiles('better-sqlite3', to, ['package.json', 'LICENSE', 'lib', `prebuilds/linux-${target}.node`])
  const pages = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']
  installFiles('swagger-ui-dist', to, ['package.json', 'LICENSE', 'NOTICE', ...pages])
}

function installFiles(name: string, to: string, files: readonly string[]): void {
  for (const file of files) {
    const path = join('node_modules', name, file)
    cpSync(join(root, path), join(to, path), { recursive: true })
  }
}

/** The package of Node for an architecture: the one that `npm ci` brought, or, for another machine, that of the lockfile. */
export function carriedNode(architecture: Architecture, work: string): string {
  const name = `node-linux-${architectures[architecture]}`
  const installed = join(root, 'node_modules', name)
  if (existsSync(installed)) return installed
  const unpacked = join(work, name)
  if (existsSync(unpacked)) return join(unpacked, 'package')
  mkdirSync(unpacked)
  const wanted = `${name}@${manifest.optionalDependencies[name]}`
  const [packed] = JSON.parse(run('npm', ['pack', '--json', '--pack-destination', unpacked, wanted])) as {
    filename: string
  }[]
  const file = join(unpacked, packed!.filename)
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { integrity: string }>
  }
  const integrity = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`
  if (packages[`node_modules/${name}`]?.integrity !== integrity)
    throw new Error(`${wanted} is not what package-lock.json says`)
  run('tar', ['-xzf', file, '-C', unpacked])
  return join(unpacked, 'package')
}

/** Without its symbols Node is 30 MB smaller. Those of another architecture need the binutils of that one; else they stay. */
function stripSymbols(file: string, architecture: Architecture): void {
  const names = { amd64: 'x86_64-linux-gnu-strip', arm64: 'aarch64-linux-gnu-strip' }
  const strip = architectures[architecture] === arch ? 'strip' : names[architecture]
  try {
    run(strip, ['--strip-unneeded', file])
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    console.error(
      `${strip} is not installed (binutils), so Node for ${architecture} keeps its symbols: 30 MB more`,
    )
  }
}
