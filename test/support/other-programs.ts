import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Test } from 'tap'
import type { Migration } from '../../lib/store/migrations/migration.ts'
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

/** Builds the programs of the commit before this one, with the packages of this; gives their directory. */
export async function programsBefore(t: Test): Promise<string> {
  const tree = temporaryDir(t)
  const archive = git('archive', commitBefore(), ...sources)
  execFileSync('tar', ['-x', '-C', tree], { input: archive })
  return build(tree)
}

/** What the programs of `programsWithSteps` read at their start: beside them. */
const stepsFile = 'steps.json'
const readSteps = `process.getBuiltinModule('node:fs').readFileSync(process.getBuiltinModule('node:path').join(process.argv[1], '..', '${stepsFile}'), 'utf8')`

/** Builds the programs of this tree as many times as there are lists, each with those steps of the schema after its own; gives their directories. */
export async function programsWithSteps(
  t: Test,
  ...lists: readonly (readonly Omit<Migration, 'fill'>[])[]
): Promise<string[]> {
  const tree = temporaryDir(t)
  for (const name of sources) cpSync(join(root, name), join(tree, name), { recursive: true })
  const index = join(tree, 'lib/store/migrations/index.ts')
  const text = readFileSync(index, 'utf8')
  const longer = text.replace(/\n\]\n$/, () => `\n  ...JSON.parse(${readSteps}),\n]\n`)
  if (longer === text) throw new Error(`${index} does not end in the list of steps`)
  writeFileSync(index, longer)
  writeFileSync(join(tree, 'bin', stepsFile), '[]')
  const built = await build(tree)
  return lists.map((steps, n) => {
    const copy = join(tree, `copy${n}`)
    mkdirSync(copy)
    for (const name of ['config', 'package.json', 'dist'])
      cpSync(join(tree, name), join(copy, name), { recursive: true })
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
    const programs = join(copy, relative(tree, built))
    writeFileSync(join(programs, stepsFile), JSON.stringify(steps))
    return programs
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
