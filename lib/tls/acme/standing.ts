import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { replaceFile } from '../../base/files.ts'

/** How the last orders went; kept in a file, so that a daemon that starts again and again does not ask again and again. */
export interface Standing {
  readonly failures: number
  readonly notBefore: string
  /** What was asked of whom; when that was changed, the wait is over. */
  readonly order: string
  readonly error: string
  /** The names that DNS had no address of: the CA could not reach them. When all have one, there is nothing to wait for. */
  readonly withoutAddress: readonly string[]
}

/** Where it is kept in a data directory. */
export const standingPath = (dataDir: string) => join(dataDir, 'acme', 'standing.json')

/** Undefined where there was no failure since the last certificate. */
export async function readStanding(dataDir: string): Promise<Standing | undefined> {
  try {
    const {
      failures,
      notBefore,
      order,
      error,
      withoutAddress = [],
    } = JSON.parse(await readFile(standingPath(dataDir), 'utf8'))
    return Number.isInteger(failures) && !Number.isNaN(Date.parse(notBefore))
      ? { failures, notBefore, order, error, withoutAddress }
      : undefined
  } catch {
    // None, or damaged: there was no failure.
    return undefined
  }
}

/** @param standing undefined: there is a certificate */
export async function writeStanding(dataDir: string, standing: Standing | undefined): Promise<void> {
  await replaceFile(standingPath(dataDir), `${JSON.stringify(standing ?? {})}\n`)
}
