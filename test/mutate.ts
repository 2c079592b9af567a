/**
 * `npm run mutate [-- [--named] [--sample N] [--seed S] [--nearest N] [--tests N] [--stories N] [NAME…]]`: puts one small fault after another into the sources
 * and looks whether the tests notice. A name is a file or folder below lib/, a line of a file (`core/policy/rules.ts:12`) or of what it has printed;
 * without any it is the rooms that hold the promises. It takes N faults by chance (200 unless told; by the same seed the same ones, and of a changed
 * source those that are left), works on copies, and prints those that nothing noticed, with the share of those that something did.
 *
 * Each is shown to the five tests nearest to its file (unless told) and those named `whole-…` that reach it, until one fails, and then to the compiler, with which nothing could be built or landed.
 * For those that are left other tests, then stories (test/flow), are run once without a fault, the nearest first, to learn which of their places they run
 * (support/probes.ts), until ten tests and four stories are known for each, or three times as many were looked at; these are run with the fault. The stories' daemons run the sources here, not the
 * bundle.
 *
 * With --named it makes those of support/named-faults.ts instead, which no test noticed once.
 *
 * Asked to stop (SIGINT, SIGTERM), it ends after the faults at hand and gives the share until then.
 */

import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { makeMigratedFile } from './support/migrated.ts'
import { type Mutant, mutantsOf } from './support/mutants.ts'
import { namedFaults } from './support/named-faults.ts'
import { findPeer } from './support/peers.ts'
import { startPostgres } from './support/postgres.ts'
import { probed, probeEnv, readProbes } from './support/probes.ts'
import { makeRunDir } from './support/run-dir.ts'
import { Sources } from './support/sources.ts'
import { runTestFile } from './support/test-file.ts'

/** What is made once for all tests is made without faults: `makeWhatIsShared`. */
const runDir = await makeRunDir()
const root = join(import.meta.dirname, '..')
const rooms = ['core', 'mail', 'store', 'courier', 'smtpd', 'queue', 'http']
/** Not of the sources, or there anyway. */
const leftOut = new Set(['.git', '.tap', 'dist', 'node_modules', 'packages'])
/** Of stories, those that kill, measure, or look at the bundle and the packages tell of no single fault what they are for. */
const otherStories =
  /\/(soak|power-cuts|image|package|package-arm64|npm-package|build-id|build-changed|dev|systemd|hostile-\w+)\.test/

/** Those that hold all that is said to many inputs (support/kept-facts.ts) stand behind the nearest, so that it shows what they alone notice. */
const isWhole = (test: string) => /\/whole-[\w-]+\.test\.ts$/.test(test)
/** So many times as many tests are looked at for one that runs the place of a fault: most stories run all there is, or never do. */
const lookedAt = 3

/** What takes longer is ended, a story later than others. One that does so without a fault, too, notices none. */
const mostMs = (test: string) => (test.startsWith('test/flow/') ? 150_000 : 60_000)

interface Fault extends Mutant {
  readonly file: string
  /** Those that are run for it; the nearest unless told. */
  readonly tests?: readonly string[]
}

let isOver = false

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    options: {
      sample: { type: 'string', default: '200' },
      seed: { type: 'string' },
      named: { type: 'boolean', default: false },
      nearest: { type: 'string', default: '5' },
      tests: { type: 'string', default: '10' },
      stories: { type: 'string', default: '4' },
    },
    allowPositionals: true,
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => (isOver = true))
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31))
  const all = faultsIn(positionals.length > 0 ? positionals : rooms)
  const files = [...new Set(all.map(({ file }) => file))]
  const isWanted = ({ file }: Fault) => positionals.length === 0 || files.includes(file)
  const chosen = values.named ? named().filter(isWanted) : sample(all, Number(values.sample), seed)
  if (values.named) console.log(`${chosen.length} named faults`)
  else console.log(`${chosen.length} of ${all.length} faults in ${files.length} files, seed ${seed}`)

  const sources = new Sources(root)
  const tests = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const stories = tests.filter(test => test.startsWith('test/flow/') && !otherStories.test(test))
  const units = tests.filter(test => !/^test\/(flow|rules|fuzz)\//.test(test))
  const nearest = (fault: Fault) => {
    if (fault.tests) return fault.tests
    const near = sources.nearest(units, fault.file)
    const others = near.filter(test => !isWhole(test)).slice(0, Number(values.nearest))
    return [...others, ...near.filter(isWhole)]
  }

  await makeWhatIsShared()
  const copies = Array.from({ length: availableParallelism() }, makeCopy)
  const noticed = new Map<Fault, string>()
  const tell = (fault: Fault, by: string | undefined) => {
    if (by !== undefined) noticed.set(fault, by)
    console.log(`${by ?? 'nothing yet'}: ${printed(fault)}`)
  }
  const left = () => tried.filter(fault => !noticed.has(fault))
  const tried: Fault[] = []
  const ran = new Map<Fault, number>()
  try {
    await inCopies(copies, chosen, async (fault, copy) => {
      const by = await noticedBy(nearest(fault), fault, copy)
      tried.push(fault)
      tell(fault, by)
    })
    for (const fault of await refused(left(), copies[0]!)) tell(fault, types)
    for (const [which, count] of [
      [units, Number(values.tests)],
      [stories, Number(values.stories)],
    ] as const) {
      const asked = count > 0 && !isOver ? left().filter(fault => !fault.tests) : []
      const others = asked.map(fault => {
        const near = sources.nearest(which, fault.file)
        // A story runs in other processes what it does not import.
        const far = which === stories ? which.filter(test => !near.includes(test)) : []
        const others = [...near, ...far].filter(test => !nearest(fault).includes(test))
        return { fault, tests: others.slice(0, lookedAt * count) }
      })
      const running = await whoRuns(others, count, copies)
      for (const [fault, { length }] of running) ran.set(fault, length + (ran.get(fault) ?? 0))
      await inCopies(copies, asked, async (fault, copy) =>
        tell(fault, await noticedBy(running.get(fault)!, fault, copy)),
      )
    }
  } finally {
    for (const dir of [...copies, runDir]) rmSync(dir, { recursive: true, force: true })
  }
  report(tried, noticed, left(), ran)
  console.log(`seed ${seed}`)
  return 0
}

/** Not a test, and last of all. */
const types = 'the compiler'

const printed = ({ file, line, what }: Fault) => `${file}:${line}  ${what}`

/** @param ran how many others than the nearest were run with it */
function report(
  tried: readonly Fault[],
  noticed: ReadonlyMap<Fault, string>,
  left: readonly Fault[],
  ran: ReadonlyMap<Fault, number>,
): void {
  const seenBy = (fault: Fault) => `${printed(fault)}  (${ran.get(fault) ?? 0} tests run it)`
  console.log(`\nNothing noticed:\n${left.map(seenBy).join('\n')}`)
  const by = (is: (test: string) => boolean) => [...noticed.values()].filter(is).length
  const share = ((100 * noticed.size) / tried.length).toFixed(1)
  const alone = `${by(one => one === types)} of them by the compiler alone, ${by(one => one.startsWith('test/flow/'))} by a story alone, ${by(isWhole)} by whole readings and transcripts behind the nearest`
  console.log(`\n${noticed.size} of ${tried.length} noticed (${share} %), ${alone}`)
}

interface Asked {
  readonly fault: Fault
  /** Who might run its place, the nearest first. */
  readonly tests: readonly string[]
}

/** Those of its tests that run the place of each fault, the first `count` of them. Who fails without a fault is left out. */
async function whoRuns(
  asked: readonly Asked[],
  count: number,
  copies: readonly string[],
): Promise<Map<Fault, string[]>> {
  const running = new Map(asked.map(({ fault }) => [fault, new Set<string>()]))
  const places = asked.map(({ fault }, number) => ({ ...fault, number }))
  // The checkout may be another by now; the copies are as it was.
  const originals = new Map(places.map(({ file }) => [file, readFileSync(join(copies[0]!, file), 'utf8')]))
  const writeAll = (textOf: (file: string, source: string) => string) => {
    for (const copy of copies)
      for (const [file, source] of originals) writeFileSync(join(copy, file), textOf(file, source))
  }
  writeAll((file, source) =>
    probed(
      source,
      places.filter(place => place.file === file),
    ),
  )
  try {
    await inCopies(copies, inTurns(asked, count, running), async (test, copy) => {
      const path = join(mkdtempSync(join(runDir, 'probes-')), 'ran')
      const { failures } = await runTestFile(join(copy, test), runDir, {
        timeoutMs: mostMs(test),
        env: probeEnv(path),
      })
      if (failures.length === 0)
        for (const number of readProbes(path)) running.get(asked[number]!.fault)!.add(test)
      else console.log(`${test} fails without a fault: ${failures[0]!.split('\n')[0]}`)
    })
  } finally {
    writeAll((_file, source) => source)
  }
  return new Map(
    asked.map(({ fault, tests }) => [
      fault,
      tests.filter(test => running.get(fault)!.has(test)).slice(0, count),
    ]),
  )
}

/** The next test of each fault by turns, each test once, for as long as fewer than `count` are found for it. */
function* inTurns(
  asked: readonly Asked[],
  count: number,
  running: ReadonlyMap<Fault, ReadonlySet<string>>,
): Generator<string> {
  const given = new Set<string>()
  for (let isSome = true; isSome; ) {
    isSome = false
    for (const { fault, tests } of asked) {
      const next = running.get(fault)!.size < count ? tests.find(test => !given.has(test)) : undefined
      if (next === undefined) continue
      isSome = true
      given.add(next)
      yield next
    }
  }
}

/** Does it for each of them, in as many copies at once as there are, until somebody asks for the end. */
async function inCopies<T>(
  copies: readonly string[],
  list: Iterable<T>,
  work: (one: T, copy: string) => Promise<void>,
): Promise<void> {
  const waiting = list[Symbol.iterator]()
  const goThrough = async (copy: string) => {
    for (let next = waiting.next(); !next.done && !isOver; next = waiting.next()) await work(next.value, copy)
  }
  await Promise.all(copies.map(goThrough))
}

/** Of the sources that the names mean, in their order. */
function faultsIn(names: readonly string[]): Fault[] {
  const wanted = names.map(name => name.replace(/^lib\//, '').replace(/ {2}\(\d+ tests run it\)$/, ''))
  const isMeant = (fault: Fault) => {
    const line = printed(fault).slice('lib/'.length)
    return wanted.some(name => line === name || [...'/: '].some(end => line.startsWith(`${name}${end}`)))
  }
  const faultsOf = (file: string) =>
    mutantsOf(readFileSync(join(root, file), 'utf8')).map(mutant => ({ file, ...mutant }))
  return globSync('lib/**/*.ts', { cwd: root }).sort().flatMap(faultsOf).filter(isMeant)
}

/** @throws Error where a fault is named that can't be made any more */
function named(): Fault[] {
  return namedFaults.map(({ what, file, was, is, tests }) => {
    const source = readFileSync(join(root, file), 'utf8')
    const start = source.indexOf(was)
    if (start < 0 || source.indexOf(was, start + 1) >= 0)
      throw new Error(`${what}: ${file} has not "${was}" once`)
    const line = source.slice(0, start).split('\n').length
    const end = start + was.length
    return { file, line, start, end, within: [start, end], text: is, what, tests }
  })
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

/** The databases that tests begin with. */
async function makeWhatIsShared(): Promise<void> {
  process.env.MAILBOXD_TESTS_RUN = runDir
  process.env.MAILBOXD_TESTS_BUILT = 'yes'
  await makeMigratedFile(join(runDir, 'unused.sqlite'))
  if (findPeer('postgres')) await (await startPostgres()).stop()
}

/** A checkout for tests; its packages are shared, and in the place of the built programs are those that run the sources. */
function makeCopy(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mailboxd-mutants-'))
  // Programs that drop their rights are run from there, too.
  chmodSync(copy, 0o755)
  for (const name of readdirSync(root)) {
    if (!leftOut.has(name)) cpSync(join(root, name), join(copy, name), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'))
  mkdirSync(join(copy, 'dist', 'bin'), { recursive: true })
  for (const name of ['mailboxd', 'mailboxctl'])
    writeFileSync(join(copy, 'dist', 'bin', `${name}.js`), `import '../../bin/${name}.ts'\n`)
  return copy
}

/** Does it while the fault is in the copy. */
async function withFault<T>(
  { file, start, end, text }: Fault,
  copy: string,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(copy, file)
  const source = readFileSync(path, 'utf8')
  writeFileSync(path, source.slice(0, start) + text + source.slice(end))
  try {
    return await work()
  } finally {
    writeFileSync(path, source)
  }
}

/** The first of the tests that fails with it, and does not without it. */
async function noticedBy(tests: readonly string[], fault: Fault, copy: string): Promise<string | undefined> {
  const withIt = (test: string) => withFault(fault, copy, () => failuresOf(test, copy))
  for (const test of tests) {
    const failures = await withIt(test)
    if (failures.length === 0) continue
    // What waits in vain may do so for the machine's sake: then it must do so once more. What goes on for ever must not without the fault.
    const isInVain = failures.some(failure => /in vain|in time|no reply within/.test(failure))
    if (isInVain && (await withIt(test)).length === 0) continue
    const isOfTime = isInVain || failures.some(failure => /took longer than/.test(failure))
    if (!(await fails(test, copy, isOfTime))) return test
  }
  return undefined
}

const running = new Map<string, Promise<unknown>>()

/** What fails first; when nobody else runs this test, for some have a port of their own. */
function failuresOf(test: string, copy: string): Promise<readonly string[]> {
  const run = async () =>
    (await runTestFile(join(copy, test), runDir, { timeoutMs: mostMs(test), endsAtFailure: true })).failures
  const next = (running.get(test) ?? Promise.resolve()).then(run)
  running.set(test, next)
  return next
}

const known = new Map<string, Promise<boolean>>()

/** Whether a test fails without a fault. @param isAnew where the machine may have been at fault */
function fails(test: string, copy: string, isAnew: boolean): Promise<boolean> {
  if (!isAnew && known.has(test)) return known.get(test)!
  const asked = failuresOf(test, copy).then(failures => {
    if (failures.length > 0) console.log(`${test} fails without a fault: ${failures[0]!.split('\n')[0]}`)
    return failures.length > 0
  })
  known.set(test, asked)
  return asked
}

/**
 * Those that the compiler refuses. As many as there are files with any are shown to it at once; what it says of a file is about the fault there, and what it says of
 * others counts for none.
 */
async function refused(faults: readonly Fault[], copy: string): Promise<Fault[]> {
  if (faults.length === 0) return []
  const strange = await filesWithTypeFaults(copy)
  if (strange.size > 0) throw new Error(`${[...strange]} have faults of types without any of ours`)
  const found: Fault[] = []
  let waiting = faults
  while (waiting.length > 0) {
    const shown = new Map(waiting.map(fault => [fault.file, fault]))
    waiting = waiting.filter(fault => shown.get(fault.file) !== fault)
    const files = await [...shown.values()].reduce(
      (look, fault) => () => withFault(fault, copy, look),
      () => filesWithTypeFaults(copy),
    )()
    found.push(...[...files].flatMap(file => shown.get(file) ?? []))
  }
  return found
}

async function filesWithTypeFaults(copy: string): Promise<Set<string>> {
  try {
    await promisify(execFile)(join(copy, 'node_modules', '.bin', 'tsc'), ['-p', '.', '--pretty', 'false'], {
      cwd: copy,
    })
    return new Set()
  } catch (error) {
    // It was run, and told of some.
    const said = String((error as { stdout?: unknown }).stdout)
    const files = [...said.matchAll(/^(\S+)\(\d+,\d+\): error TS\d/gm)].map(([, file]) => file!)
    if (files.length === 0) throw error
    return new Set(files)
  }
}

process.exitCode = await main(process.argv.slice(2))
