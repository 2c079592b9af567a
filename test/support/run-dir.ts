import { chmodSync, mkdtempSync, readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packPackages } from './packed-packages.ts'

const memory = '/dev/shm'
/** What the files that run at once may have of it at the most, and more. */
const neededBytes = 4 * 1024 ** 3

/**
 * A new directory for what the files of one run share, which the caller removes. Where the system has enough of a file system in memory,
 * it is there, and so is what the tests write from now on (TMPDIR): they wait for thousands of fsyncs, and none of them
 * loses its power.
 */
export async function makeRunDir(): Promise<string> {
  if (hasMemory()) process.env.TMPDIR ??= memory
  const dir = mkdtempSync(join(tmpdir(), 'mailboxd-run-'))
  // Servers that drop their rights begin there.
  chmodSync(dir, 0o755)
  await packPackages(dir)
  return dir
}

/** Whether files there may be run, too: tests build libraries. */
function hasMemory(): boolean {
  if (process.platform !== 'linux') return false
  const mounts = readFileSync('/proc/self/mounts', 'utf8').split('\n')
  const options = mounts.map(line => line.split(' ')).findLast(([, place]) => place === memory)?.[3]
  if (!options || options.split(',').some(one => one === 'noexec' || one === 'ro')) return false
  const { bavail, bsize } = statfsSync(memory)
  return bavail * bsize > neededBytes
}
