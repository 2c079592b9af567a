import { chmodSync, existsSync, mkdtempSync, readlinkSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

/** Set by test/run.ts: a directory for all the files of one run, which goes with it. */
const ofRun = 'MAILBOXD_TESTS_RUN'
let ofProcess: string | undefined
/** A package takes a minute where four files ask for all that there is at once. */
const mostMs = 300_000

/**
 * The path of a file or directory that costs too much to be made for each test: it is made when it is first asked for in
 * a run, and copied from then on. Who asks while it is being made waits for it, unless who makes it has ended without.
 * @param make makes it at the path that it is given
 */
export async function madeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(process.env[ofRun] ?? dirOfProcess(), name)
  const making = `${path}.making`
  await until(`${name}, which another test makes`, () => existsSync(path) || begins(making), mostMs)
  const mine = `${path}.${process.pid}`
  try {
    if (!existsSync(path)) {
      await make(mine)
      renameSync(mine, path)
    }
  } catch (error) {
    // Two that found the same maker dead may both make it; one of the two stays, for a directory does not take the place of one that is there.
    if (!existsSync(path)) throw error
  } finally {
    rmSync(mine, { recursive: true, force: true })
    rmSync(making, { force: true })
  }
  return path
}

/** Whether nobody makes it: then this process does. A link, because it is there at once with what it says. */
function begins(making: string): boolean {
  try {
    symlinkSync(String(process.pid), making)
    return true
  } catch {
    if (!isAlive(making)) rmSync(making, { force: true })
    return false
  }
}

function isAlive(making: string): boolean {
  try {
    process.kill(Number(readlinkSync(making)), 0)
    return true
  } catch {
    return false
  }
}

function dirOfProcess(): string {
  if (!ofProcess) {
    const dir = mkdtempSync(join(tmpdir(), 'mailboxd-once-'))
    // Servers that drop their rights begin there.
    chmodSync(dir, 0o755)
    ofProcess = dir
    process.once('exit', () => rmSync(dir, { recursive: true, force: true }))
  }
  return ofProcess
}
