/**
 * `npm run mutate [-- [--named] [--sample N] [--seed S] [--tests N] [NAME…]]`: puts one small fault after another into the sources and looks whether the tests
 * notice. A name is a file or folder below lib/, a line of a file (`core/policy/rules.ts:12`) or of what it has printed; without any it is
 * the rooms that hold the promises. It takes N faults by chance (200 unless told; by the same seed the same ones, and of a changed source
 * those that are left), works on a copy, prints each that no test noticed, and last the share of those that one did.
 *
 * Asked to stop (SIGINT, SIGTERM), it ends after the fault at hand and gives the share until then.
 *
 * With --named it makes those of support/named-faults.ts instead, which no test noticed once.
 *
 * For a fault the twelve tests nearest to its file (unless told: `--tests`) are looked at, until one fails; behind the first three those alone are run that run
 * its line (V8 counts that once for each test, without a fault). What no test notices the compiler may: with it nothing could be built or landed.
 */

import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
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
import { parseArgs, promisify } from 'node:util'
import { readCoverage } from './support/coverage.ts'
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
const jobs = 1
/** Of tests behind the nearest, what they run is asked before. */
const nearest = 3
/** What takes longer is ended. One that does so without a fault, too, notices none. */
const mostMs = 120_000

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
      tests: { type: 'string', default: '12' },
    },
    allowPositionals: true,
  })
  const mostTests = Number(values.tests)
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  const wanted = (positionals.length > 0 ? positionals : rooms).map(name =>
    name.replace(/^lib\//, '').replace(/ {2}\(\d+ tests run it\)$/, ''),
  )
  const isMeant = (fault: Fault) => {
    const line = printed(fault).slice('lib/'.length)
    return wanted.some(name => line === name || [...'/: '].some(end => line.startsWith(`${name}${end}`)))
  }
  const all = globSync('lib/**/*.ts', { cwd: root }).sort().flatMap(faultsOf).filter(isMeant)
  const files = [...new Set(all.map(({ file }) => file))]
  const isWanted = ({ file }: Fault) => positionals.length === 0 || files.includes(file)
  const chosen = values.named ? named().filter(isWanted) : sample(all, Number(values.sample), seed)
  if (values.named) console.log(`${chosen.length} named faults`)
  else console.log(`${chosen.length} of ${all.length} faults in ${files.length} files, seed ${seed}`)
  const importers = readImports()
  await makeWhatIsShared()
  const waiting = chosen.values()
  let isOver = false
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (isOver = true))
  const counts = { noticed: 0, byTypes: 0, tried: 0 }
  const work = async () => {
    const copy = makeCopy()
    try {
      if (await hasTypeFaults(copy)) throw new Error('the sources have faults of types without any of ours')
      for (const fault of waiting) {
        if (isOver) break
        const { notice, ran } = await noticedBy(
          copy,
          fault,
          (fault.tests ?? testsFor(fault.file, importers)).slice(0, mostTests),
          chosen,
        )
        counts.tried++
        if (notice) counts.noticed++
        if (notice === 'types') counts.byTypes++
        if (!notice) console.log(`${printed(fault)}  (${ran} tests run it)`)
        if (counts.tried % 20 === 0) console.log(shareOf(counts))
      }
    } finally {
      rmSync(copy, { recursive: true, force: true })
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  rmSync(runDir, { recursive: true, force: true })
  console.log(`\n${shareOf(counts)}, seed ${seed}`)
  return 0
}

const printed = ({ file, line, what }: Fault) => `${file}:${line}  ${what}`

interface Counts {
  readonly noticed: number
  /** Of those, by the compiler alone. */
  readonly byTypes: number
  readonly tried: number
}

const shareOf = ({ noticed, byTypes, tried }: Counts) =>
  `${noticed} of ${tried} noticed (${((100 * noticed) / tried).toFixed(1)} %), ${byTypes} of them by the compiler alone`

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

function faultsOf(file: string): Fault[] {
  return mutantsOf(readFileSync(join(root, file), 'utf8')).map(mutant => ({ file, ...mutant }))
}

/** So many of the list by chance, the same by the same seed, in whichever lines they stand. */
function sample(faults: readonly Fault[], count: number, seed: number): Fault[] {
  const alike = new Map<string, number>()
  const keyed = faults.map(fault => {
    const name = `${fault.file} ${fault.what}`
    const nth = (alike.get(name) ?? 0) + 1
    alike.set(name, nth)
    return { fault, key: hash('sha256', `${seed} ${name} ${nth}`) }
  })
  return keyed
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .slice(0, count)
    .map(({ fault }) => fault)
}

/** What a checkout needs for its tests; its packages are shared. */
function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mailboxd-mutants-'))
  // Programs that drop their rights are run from there, too.
  chmodSync(copy, 0o755)
  for (const name of [
    'bench',
    'bin',
    'config',
    'docs',
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
  faults: readonly Fault[],
): Promise<{ notice: 'test' | 'types' | undefined; ran: number }> {
  const path = join(copy, fault.file)
  const source = readFileSync(path, 'utf8')
  const faulty = source.slice(0, fault.start) + fault.text + source.slice(fault.end)
  let ran = 0
  for (const [index, test] of tests.entries()) {
    const isNear = fault.tests !== undefined || index < nearest
    if (!isNear && !(await withoutFault(copy, test, faults)).runs.has(fault)) continue
    ran++
    writeFileSync(path, faulty)
    const { failures } = await runTestFile(join(copy, test), runDir, {
      timeoutMs: mostMs,
      endsAtFailure: true,
    })
    writeFileSync(path, source)
    if (failures.length === 0) continue
    // What hangs or waits in vain may do so for the machine's sake: then it is looked at anew.
    const isOfTime = failures.some(failure => /took longer than|in vain/.test(failure))
    const plain = isOfTime ? lookWithout(copy, test, faults) : withoutFault(copy, test, faults)
    if (!(await plain).fails) return { notice: 'test', ran }
  }
  writeFileSync(path, faulty)
  const notice = (await hasTypeFaults(copy)) ? 'types' : undefined
  writeFileSync(path, source)
  return { notice, ran }
}

/** Whether the compiler refuses the sources; it remembers what it knows of those that are as they were. */
async function hasTypeFaults(copy: string): Promise<boolean> {
  try {
    await promisify(execFile)(join(copy, 'node_modules', '.bin', 'tsc'), ['-p', copy])
    return false
  } catch (error) {
    // It was run, and told of some.
    if (/error TS\d/.test(String((error as { stdout?: unknown }).stdout))) return true
    throw error
  }
}

interface Plain {
  readonly fails: boolean
  /** Those of the faults whose line it runs. */
  readonly runs: ReadonlySet<Fault>
}

const plains = new Map<string, Promise<Plain>>()

/** How a test goes where no fault is, and what it runs; looked at once. */
function withoutFault(copy: string, test: string, faults: readonly Fault[]): Promise<Plain> {
  const known = plains.get(test)
  if (known) return known
  plains.set(test, lookWithout(copy, test, faults))
  return plains.get(test)!
}

async function lookWithout(copy: string, test: string, faults: readonly Fault[]): Promise<Plain> {
  const coverageDir = mkdtempSync(join(runDir, 'coverage-'))
  const { failures } = await runTestFile(join(copy, test), runDir, { coverageDir, timeoutMs: mostMs })
  if (failures.length > 0) console.log(`${test} fails without a fault: ${failures[0]}`)
  const ranAt = readCoverage(coverageDir, copy)
  const runs = new Set(faults.filter(({ file, start }) => ranAt(file, start)))
  rmSync(coverageDir, { recursive: true })
  return { fails: failures.length > 0, runs }
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

/** The tests that may run a source, the nearest first; those that start a daemon run its bundle, where no fault is. */
function testsFor(file: string, importers: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const tests = globSync('test/**/*.test.ts', { cwd: root })
    .filter(test => !/^test\/(flow|rules|fuzz)\//.test(test))
    .sort()
  const own = file.replace(/^lib\//, 'test/').replace(/\.ts$/, '')
  const folder = dirname(own)
  const found = new Set(tests.filter(test => test === `${own}.test.ts` || test.startsWith(`${own}/`)))
  for (const test of tests) if (dirname(test) === folder) found.add(test)
  // By ever longer chains of imports.
  const seen = new Set([file])
  let reached = [file]
  while (reached.length > 0) {
    reached = [...new Set(reached.flatMap(one => [...(importers.get(one) ?? [])]))].filter(
      one => !seen.has(one),
    )
    for (const one of reached) seen.add(one)
    for (const test of tests) if (reached.includes(test)) found.add(test)
  }
  return [...found]
}

process.exitCode = await main(process.argv.slice(2))
