/**
 * `npm test [-- FILE…]`: runs every *.test.ts under test/, or the files given, two at a time, each in a process of
 * its own. Prints what failed and what was skipped with its reason, and last the counts of assertions.
 * One file with all its TAP: `node test/mail/address.test.ts`.
 */

import { globSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runTestFile, type TestFileReport } from './support/test-file.ts'

const jobs = 2

async function main(given: readonly string[]): Promise<number> {
  const files = given.length > 0 ? [...given] : globSync('test/**/*.test.ts').sort()
  const stopping = new AbortController()
  process.once('SIGINT', () => stopping.abort())
  process.once('SIGTERM', () => stopping.abort())

  // Each file, and each program that it starts, has the same sources to strip of their types: half a second.
  const compileCache = mkdtempSync(join(tmpdir(), 'mailboxd-compiled-'))
  const reports: TestFileReport[] = []
  const waiting = files.values()
  const work = async () => {
    for (const file of waiting) {
      if (stopping.signal.aborted) return
      const report = await runTestFile(file, compileCache, stopping.signal)
      reports.push(report)
      printFile(report)
    }
  }
  await Promise.all(Array.from({ length: jobs }, work))
  rmSync(compileCache, { recursive: true, force: true })
  return summarise(reports, files.length)
}

function printFile({ file, passed, failures, skips, durationMs }: TestFileReport): void {
  const state = failures.length > 0 ? 'FAIL' : passed > 0 ? 'ok  ' : 'skip'
  const skipped = skips.length > 0 ? `, ${skips.length} skipped` : ''
  console.log(`${state} ${file}  ${passed} passed${skipped}  ${(durationMs / 1000).toFixed(1)} s`)
  for (const failure of failures) console.log(`  not ok  ${failure}`)
}

function summarise(reports: readonly TestFileReport[], expectedFiles: number): number {
  const skips = reports.flatMap(report => report.skips).sort()
  if (skips.length > 0) console.log(`\nSkipped:\n${skips.map(skip => `  ${skip}`).join('\n')}`)
  const passed = reports.reduce((sum, report) => sum + report.passed, 0)
  let failed = reports.reduce((sum, report) => sum + report.failures.length, 0)
  if (reports.length < expectedFiles) {
    console.log(`\nStopped: ${expectedFiles - reports.length} files did not run`)
    failed += expectedFiles - reports.length
  }
  if (passed + failed === 0) {
    console.log('\nNothing was tested')
    failed = 1
  }
  console.log(`\n${passed} passed, ${failed} failed${skips.length > 0 ? `, ${skips.length} skipped` : ''}`)
  return failed > 0 ? 1 : 0
}

process.exitCode = await main(process.argv.slice(2))
