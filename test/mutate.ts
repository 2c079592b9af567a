/**
 * `npm run mutate [-- [--named] [--sample N] [--seed S] [NAME…]]`: puts one small fault after another into the sources and looks whether the tests
 * notice. A name is a file or folder below lib/; without any it is the rooms that hold the promises. It takes N faults by chance (200
 * unless told), works on a copy, prints each that no test noticed, and last the share of those that one did.
 *
 * With --named it makes those of support/named-faults.ts instead, which no test noticed once.
 *
 * For a fault the tests are run that are nearest to its file, until one fails: its own, those of its folder, those that import it.
 */

import {
  chmodSync,
  cpSync,
  globSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { makeMigratedFile } from './support/migrated.ts'
import { type Mutant, mutantsOf } from './support/mutants.ts'
import { namedFaults } from './support/named-faults.ts'
import { findPeer } from './support/peers.ts'
import { startPostgres } from './support/postgres.ts'
import { makeRunDir } from './support/run-dir.ts'
import { runTestFile } from './support/test-file.ts'

/** What is made once for all tests is made without faults: `makeWhatIsShared`. */
const runDir = makeRunDir()
const root = join(import.meta.dirname, '..')
const rooms = ['core', 'mail', 'store', 'courier', 'smtpd', 'queue', 'http']
const jobs = 2
/** Tests that are run for one fault at the most. */
const mostTests = 10

interface Fault extends Mutant {
  readonly file: string
  /** Those that are run for it; the nearest to its file unless told. */
  readonly tests?: readonly string[]
}

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      sample: { type: 'string', default: '200' },
      seed: { type: 'string' },
      named: { type: 'boolean', default: false },
    },
    allowPositionals: true,
  })
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  const wanted = (positionals.length > 0 ? positionals : rooms).map(name => name.replace(/^lib\//, ''))
  const files = globSync('lib/**/*.ts', { cwd: root })
    .filter(file => wanted.some(name => `${file}/`.startsWith(`lib/${name}/`) || file === `lib/${name}`))
    .sort()
  const all = files.flatMap(file =>
    mutantsOf(readFileSync(join(root, file), 'utf8')).map(mutant => ({ file, ...mutant })),
  )
  const isWanted = ({ file }: Fault) => positionals.length === 0 || files.includes(file)
  const chosen = values.named ? named().filter(isWanted) : sample(all, Number(values.sample), seed)
  if (values.named) console.log(`${chosen.length} named faults`)
  else console.log(`${chosen.length} of ${all.length} faults in ${files.length} files, seed ${seed}`)
  const imports = readImports()
  await makeWhatIsShared()
  const waiting = chosen.values()
  let noticed = 0
  const unnoticed: string[] = []
  const work = async () => {
    const copy = makeCopy()
    try {
      for (const fault of waiting) {
        const by = await noticedBy(copy, fault, fault.tests ?? testsFor(fault.file, imports))
        if (by.notice) noticed++
        else {
          unnoticed.push(`${fault.file}:${fault.line}  ${fault.what}  (${by.ran} tests)`)
          console.log(unnoticed.at(-1))
        }
      }
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  rmSync(runDir, { recursive: true, force: true })
  console.log(
    `\n${noticed} of ${chosen.length} noticed (${((100 * noticed) / chosen.length).toFixed(1)} %), seed ${seed}`,
  )
  return 0
}

/** @throws Error where a fault is named that can't be made any more */
function named(): Fault[] {
  return namedFaults.map(({ what, file, was, is, tests }) => {
    const source = readFileSync(join(root, file), 'utf8')
    const start = source.indexOf(was)
    if (start < 0 || source.indexOf(was, start + 1) >= 0)
      throw new Error(`${what}: ${file} has not "${was}" once`)
    const line = source.slice(0, start).split('\n').length
    return { file, line, start, end: start + was.length, text: is, what, tests }
  })
}

/** The databases that tests begin with. */
async function makeWhatIsShared(): Promise<void> {
  process.env.MAILBOXD_TESTS_RUN = runDir
  await makeMigratedFile(join(runDir, 'unused.sqlite'))
  if (findPeer('postgres')) await (await startPostgres()).stop()
}

/** So many of the list by chance, the same by the same seed. */
function sample(faults: readonly Fault[], count: number, seed: number): Fault[] {
  let state = seed
  const keyed = faults.map(fault => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return { fault, key: Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0 }
  })
  return keyed
    .sort((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ fault }) => fault)
}

/** What a checkout needs for its tests; its packages are shared. */
function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mailboxd-mutants-'))
  // Programs that drop their rights are run from there, too.
  chmodSync(copy, 0o755)
  for (const name of [
    'bin',
    'config',
    'lib',
    'test',
    'package.json',
    'tsconfig.json',
    'systemd',
    'packaging',
  ]) {
    cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  return copy
}

async function noticedBy(
  copy: string,
  fault: Fault,
  tests: readonly string[],
): Promise<{ notice: boolean; ran: number }> {
  const path = join(copy, fault.file)
  const source = readFileSync(path, 'utf8')
  const faulty = source.slice(0, fault.start) + fault.text + source.slice(fault.end)
  writeFileSync(path, faulty)
  try {
    for (const [index, test] of tests.entries()) {
      const report = await runTestFile(join(copy, test), runDir)
      if (report.failures.length === 0) continue
      writeFileSync(path, source)
      if (await passesWithout(copy, test)) return { notice: true, ran: index + 1 }
      console.log(`${test} fails without a fault, too`)
      writeFileSync(path, faulty)
    }
    return { notice: false, ran: tests.length }
  } finally {
    writeFileSync(path, source)
  }
}

const passing = new Set<string>()

/** Whether a test passes where there is no fault; one that does not notices none. */
async function passesWithout(copy: string, test: string): Promise<boolean> {
  if (!passing.has(test) && (await runTestFile(join(copy, test), runDir)).failures.length === 0)
    passing.add(test)
  return passing.has(test)
}

/** Who imports whom, of all sources: by the imported, its importers. */
function readImports(): Map<string, Set<string>> {
  const importers = new Map<string, Set<string>>()
  for (const file of globSync('{lib,test}/**/*.ts', { cwd: root })) {
    const text = readFileSync(join(root, file), 'utf8')
    for (const [, from] of text.matchAll(/(?:from|import\() ?'(\.[^']+\.ts)'/g)) {
      const imported = relative(root, resolve(root, dirname(file), from!))
      importers.set(imported, (importers.get(imported) ?? new Set()).add(file))
    }
  }
  return importers
}

/** The tests of a source, the nearest first; those that start a daemon run its bundle, where no fault is. */
function testsFor(file: string, importers: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const tests = globSync('test/**/*.test.ts', { cwd: root }).filter(
    test => !test.startsWith('test/flow/') && !test.startsWith('test/rules/'),
  )
  const own = file.replace(/^lib\//, 'test/').replace(/\.ts$/, '')
  const folder = dirname(own)
  const found = new Set(tests.filter(test => test === `${own}.test.ts` || test.startsWith(`${own}/`)))
  for (const test of tests) if (dirname(test) === folder) found.add(test)
  // By ever longer chains of imports.
  let reached = new Set([file])
  for (let depth = 0; depth < 3 && found.size < mostTests; depth++) {
    reached = new Set([...reached].flatMap(one => [...(importers.get(one) ?? [])]))
    for (const one of reached) if (tests.includes(one)) found.add(one)
  }
  return [...found].slice(0, mostTests)
}

process.exitCode = await main(process.argv.slice(2))
