import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../base/files.ts'
import { isDataDirectoryLocked } from '../store/dialect/lock.ts'
import { daemonLockPath } from './nodes/node-name.ts'

/** What a daemon says of itself in its data directory. */
export interface Running {
  readonly version: string
  readonly pid: number
  readonly startedAt: string
  /** Null while it runs, and when it ended without a word. */
  readonly stoppedAt: string | null
  /** The addresses that it listens on. */
  readonly smtp: readonly string[]
  /** Absent in what a daemon of before said. */
  readonly submission?: readonly string[]
  readonly http: readonly string[]
}

const pathOf = (dataDir: string) => join(dataDir, 'running.json')

export async function noteRunning(dataDir: string, running: Running): Promise<void> {
  await replaceFile(pathOf(dataDir), `${JSON.stringify(running)}\n`)
}

/** Whether a daemon runs on this data, and what the last one said of itself. */
export async function readRunning(
  dataDir: string,
): Promise<{ readonly isUp: boolean; readonly last: Running | undefined }> {
  const isUp = isDataDirectoryLocked(daemonLockPath(dataDir))
  try {
    return { isUp, last: JSON.parse(await readFile(pathOf(dataDir), 'utf8')) }
  } catch {
    return { isUp, last: undefined }
  }
}
