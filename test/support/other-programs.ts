import { execFileSync } from 'node:child_process'
import { cpSync, globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { migrations } from '../../lib/store/migrations/index.ts'
import type { Migration } from '../../lib/store/migrations/migration.ts'
import { buildOnce } from './built.ts'
import { runProgram } from './program.ts'
import { temporaryDir } from './temporary-dir.ts'

const root = join(import.meta.dirname, '..', '..')
/** What a build reads. */
const sources = ['bin', 'config', 'lib', 'package.json']
const lock = 'package-lock.json'

const git = (...args: string[]) =>
  execFileSync('git', ['-C', root, ...args], { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 2 ** 28 })

/** The commit before this one; this one where they need other packages, of which one set is installed. */
function commitBefore(): string {
  const before = git('rev-parse', '--verify', 'HEAD~1').toString().trim()
  const packages = readFileSync(join(root, lock), 'utf8')
  return git('show', `${before}:${lock}`).toString() === packages ? before : 'HEAD'
}

/** Why there is no program of the commit before: false where there is one. */
export function withoutCommitBefore(): string | false {
  try {
    commitBefore()
    return false
  } catch {
    return 'there is no commit before this one here (a package, or a shallow clone: git fetch --unshallow)'
  }
}

/**
 * Returns the directory of the programs of the commit before this one, with the packages of this one. They are those of this tree if
 * nothing of them changed since, or if schema.sql did: until the first release it changes in place, so no node of the one works on the
 * database of the other.
 */
export async function programsBefore(t: Test): Promise<string> {
  const before = commitBefore()
  const isSame = (...paths: string[]) => git('diff', '--name-only', before, '--', ...paths).length === 0
  if (isSame(...sources) || !isSame('lib/store/schema.sql')) {
    buildOnce()
    return join(root, 'dist', 'bin')
  }
  const tree = temporaryDir(t)
  execFileSync('tar', ['-x', '-C', tree], { input: git('archive', before, ...sources) })
  return build(tree)
}

/** Adds a step to the schema of the program in this process until the test ends. */
export function addStep(t: Test, step: Migration): void {
  const all = migrations as Migration[]
  all.push(step)
  t.teardown(() => all.splice(all.indexOf(step), 1))
}

/** Of the bundle: where the list of steps is made. */
const listOfSteps = /\bmigrations=\[[^\]]+(?=\])/

/** The programs of this tree as many times as there are lists, each with those steps of the schema after its own, as another build; gives their directories. */
export function programsWithSteps(t: Test, ...lists: readonly (readonly Migration[])[]): string[] {
  buildOnce()
  return lists.map(steps => {
    const copy = temporaryDir(t)
    for (const name of ['config', 'package.json', 'dist'])
      cpSync(join(root, name), join(copy, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    writeFileSync(join(copy, 'dist/build-id'), `${'0'.repeat(12)}\n`)
    let places = 0
    for (const file of globSync('dist/**/*.js', { cwd: copy }).map(name => join(copy, name))) {
      const text = readFileSync(file, 'utf8')
      const longer = text.replace(listOfSteps, list => `${list},...${JSON.stringify(steps)}`)
      if (longer === text) continue
      writeFileSync(file, longer)
      places++
    }
    if (places < 2) throw new Error('not in both programs a list of steps is found')
    return join(copy, 'dist', 'bin')
  })
}

async function build(tree: string): Promise<string> {
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'))
  const { code, stderr } = await runProgram(process.execPath, [join(tree, 'bin/build.ts')], undefined, {
    timeoutMs: 600_000,
  })
  if (code !== 0) throw new Error(`the build ended with ${code}: ${stderr}`)
  return join(tree, 'dist', 'bin')
}
