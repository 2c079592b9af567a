/**
 * `npm test [-- [--watch] NAME…]`: runs the *.test.ts under test/ that take a few seconds (those that take longer are for
 * continuous integration: support/long-files.ts), or those that the names mean (a file, or a folder or file below test/ by its path
 * without the end: `store`, `core/policy`, `http/form`; `test` is all), some at a time, those of a room one after another in a process (support/groups.ts). Prints what
 * failed and what was skipped with its reason, and last the counts of assertions. With --watch it runs them again when a source changes.
 * One file with all its TAP: `bin/node test/mail/address/address.test.ts`.
 */

import { globSync, rmSync, watch } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join, relative, sep } from 'node:path'
import { buildOnce } from './support/built.ts'
import { mayBeLoad } from './support/chance.ts'
import { chooseTestFiles, UnknownTestName } from './support/choose-files.ts'
import { groupFiles } from './support/groups.ts'
import { runInLanes } from './support/lanes.ts'
import { longFiles } from './support/long-files.ts'
import { makeRunDir } from './support/run-dir.ts'
import { fileStories, isOnServers, onServers, serverStories } from './support/server-stories.ts'
import { runTestFiles, type TestFileReport } from './support/test-file.ts'

/** Three more than there are processors: a file waits for half of its time, and stories for more of it. */
const jobs = availableParallelism() + 3
const root = join(import.meta.dirname, '..')
/** So many files that failed are run once more, each alone. */
const mostAlone = 3
/** Set where all is run, and every counterpart must be there (.ci/run): what is skipped for want of one fails. */
const allEnv = 'MAILBOXD_TESTS_ALL'
const shownSlowest = 10
/** In a failure: it is none of an assertion, but of the process. */
const ofProcess = / {2}(ended with|took longer than|TAP broken off|tests nothing)|test unfinished/
const watched = ['bin', 'config', 'lib', 'test']
/** An editor saves one file in several steps: the last one is waited for. */
const settledMs = 50

async function main(args: readonly string[]): Promise<number> {
  const names = args.filter(arg => arg !== '--watch')
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort())
  process.once('SIGTERM', () => stopping.abort())
  if (!args.includes('--watch')) return runOnce(names, stopping.signal)
  const changed = watchSources(stopping.signal)
  let code = 0
  while (!stopping.signal.aborted) {
    const next = changed()
    code = await runOnce(names, stopping.signal)
    if (!stopping.signal.aborted) console.log('\nWaiting for a change')
    await next
  }
  return code
}

/** Gives a function whose promise resolves at the next change of a source, or at the end of `signal`. */
function watchSources(signal: AbortSignal): () => Promise<void> {
  let told = () => {}
  let settling: NodeJS.Timeout | undefined
  for (const folder of watched) {
    watch(join(root, folder), { recursive: true, signal }, () => {
      clearTimeout(settling)
      settling = setTimeout(() => told(), settledMs)
    }).on('error', () => {}) // the end of the signal
  }
  signal.addEventListener('abort', () => told())
  return () =>
    new Promise(resolve => {
      told = resolve
    })
}

async function runOnce(names: readonly string[], stopping: AbortSignal): Promise<number> {
  const all = globSync('test/**/*.test.ts', { cwd: root }).sort()
  const paths = names.map(name => (name.startsWith(sep) ? relative(root, name) : name))
  let files: string[]
  try {
    files = chooseTestFiles(paths, all)
  } catch (error) {
    if (!(error instanceof UnknownTestName)) throw error
    console.error(error.message)
    return 1
  }
  const left = new Set(names.length > 0 || process.env[allEnv] ? [] : longFiles)
  files = files.filter(file => !left.has(file))
  buildOnce()
  const runDir = await makeRunDir()
  const reports: TestFileReport[] = []
  const failed: Failed[] = []
  const run = async ({ files, isAgain }: TestGroup) => {
    const once = async (asked: readonly string[]): Promise<TestFileReport[]> => {
      if (stopping.aborted) return []
      const options = { signal: stopping, env: isAgain ? onServers : {} }
      const given = await runTestFiles(asked, runDir, options)
      return isAgain ? given.map(one => ({ ...one, file: `${one.file} (PostgreSQL, bucket)` })) : given
    }
    for (const [i, report] of (await once(files)).entries()) {
      const file = files[i]!
      reports.push(report)
      printFile(report)
      if (report.failures.length > 0 && mayBeLoad(file))
        failed.push({
          report,
          once: async () => {
            // What ended the process may have been another file of it.
            const again = await once(report.failures.some(one => ofProcess.test(one)) ? files : [file])
            return again.find(one => one.failures.length > 0) ?? again.find(one => one.file === report.file)
          },
        })
    }
  }
  const isAll = names.length === 0 && process.env[allEnv] !== undefined
  const again = isAll ? files.filter(file => serverStories.includes(file)) : []
  const cannot = isOnServers ? files.filter(file => fileStories[file]) : []
  for (const file of cannot) {
    reports.push({ file, passed: 0, failures: [], skips: [`${file}: ${fileStories[file]}`], durationMs: 0 })
  }
  // The long ones first, so that no processor has nothing left to do for long.
  const groups: TestGroup[] = [
    ...groupFiles(again).map(files => ({ files, isAgain: true })),
    ...groupFiles(files.filter(file => !cannot.includes(file))).map(files => ({ files, isAgain: false })),
  ]
  await runInLanes(groups, jobs, run)
  const flaky = process.env[allEnv] && !stopping.aborted ? await runAlone(failed, reports) : []
  rmSync(runDir, { recursive: true, force: true })
  if (flaky.length > 0)
    console.log(
      `\nFailed beside others and passed alone (above is what failed):\n${flaky.map(file => `  ${file}`).join('\n')}`,
    )
  return summarise(reports, files.length + again.length, left.size)
}

/** What runs in one process; again, with its rows on PostgreSQL and large messages in a bucket. */
interface TestGroup {
  readonly files: readonly string[]
  readonly isAgain: boolean
}

/** A file that failed, and how it is run once more; nothing where the run was stopped. */
interface Failed {
  readonly report: TestFileReport
  readonly once: () => Promise<TestFileReport | undefined>
}

/**
 * Runs each of these by itself, when all others have ended: on a machine that gives much less than two processors a test may wait in vain for
 * what others hold up. What it says then counts, in the place of what it said before; those that passed are given, by name. More than a
 * few are not the machine, and stay failed.
 */
async function runAlone(failed: readonly Failed[], reports: TestFileReport[]): Promise<string[]> {
  if (failed.length > mostAlone) return []
  const passed: string[] = []
  for (const { report, once } of failed) {
    console.log(`\nAlone: ${report.file}`)
    const second = await once()
    if (!second) break
    printFile(second)
    reports[reports.indexOf(report)] = second
    if (second.failures.length === 0) passed.push(second.file)
  }
  return passed
}

const seconds = ({ file, durationMs }: TestFileReport) => `  ${(durationMs / 1000).toFixed(0)} s  ${file}`

function printFile({ file, passed, failures, skips, durationMs }: TestFileReport): void {
  const state = failures.length > 0 ? 'FAIL' : passed > 0 ? 'ok  ' : 'skip'
  const skipped = skips.length > 0 ? `, ${skips.length} skipped` : ''
  console.log(`${state} ${file}  ${passed} passed${skipped}  ${(durationMs / 1000).toFixed(1)} s`)
  for (const failure of failures) console.log(`  not ok  ${failure}`)
}

function summarise(reports: readonly TestFileReport[], expectedFiles: number, leftFiles: number): number {
  const skips = reports.flatMap(report => report.skips).sort()
  if (skips.length > 0) console.log(`\nSkipped:\n${skips.map(skip => `  ${skip}`).join('\n')}`)
  const slowest = reports.toSorted((a, b) => b.durationMs - a.durationMs).slice(0, shownSlowest)
  if (reports.length > shownSlowest) console.log(`\nSlowest:\n${slowest.map(seconds).join('\n')}`)
  const passed = reports.reduce((sum, report) => sum + report.passed, 0)
  let failed = reports.reduce((sum, report) => sum + report.failures.length, 0)
  if (reports.length < expectedFiles) {
    console.log(`\nStopped: ${expectedFiles - reports.length} files did not run`)
    failed += expectedFiles - reports.length
  }
  const lacking = process.env[allEnv] ? skips.filter(skip => !skip.includes('corpora')).length : 0
  if (lacking > 0) {
    console.log(`\n${lacking} were skipped, and ${allEnv} allows none but for the corpora`)
    failed += lacking
  }
  if (passed + failed === 0) {
    console.log('\nNothing was tested')
    failed = 1
  }
  if (leftFiles > 0) console.log(`\n${leftFiles} files that take longer are left to CI: npm test -- test`)
  console.log(`\n${passed} passed, ${failed} failed${skips.length > 0 ? `, ${skips.length} skipped` : ''}`)
  return failed > 0 ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2))
