import { chmodSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Set by test/run.ts: a directory for all the files of one run, which goes with it. */
const ofRun = 'MAILBOXD_TESTS_RUN'
let ofProcess: string | undefined

/**
 * The path of a file or directory that costs too much to be made for each test: it is made when it is first asked for in
 * a run, and copied from then on. Two processes may make it at once; one of the two stays.
 * @param make makes it at the path that it is given
 */
export async function madeOnce(name: string, make: (path: string) => Promise<void>): Promise<string> {
  const path = join(process.env[ofRun] ?? dirOfProcess(), name)
  if (existsSync(path)) return path
  const mine = `${path}.${process.pid}`
  await make(mine)
  try {
    renameSync(mine, path)
  } catch (error) {
    // A directory does not take the place of one that is there.
    rmSync(mine, { recursive: true, force: true })
    if (!existsSync(path)) throw error
  }
  return path
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
