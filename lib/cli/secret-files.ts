import { readFirstLine } from '../base/first-line.ts'
import type { Fault } from '../config/fault.ts'
import type { Config } from '../config/load.ts'

/** Where systemd puts what a unit is given, as long as it runs. */
const credentials = '/run/credentials/'

interface Found {
  readonly faults: Fault[]
  readonly warnings: Fault[]
}

/** Whether the daemon can read the secret of the bucket and the password of the database's server, where it has them. */
export async function checkSecretFiles({ blobs, s3, database, postgres }: Config): Promise<Found> {
  const found = [
    blobs !== undefined && (await check('s3.secret_access_key_file', s3.secret_access_key_file)),
    database !== undefined && (await check('postgres.password_file', postgres.password_file)),
  ].filter(one => one !== false)
  return { faults: found.flatMap(one => one.faults), warnings: found.flatMap(one => one.warnings) }
}

async function check(setting: string, path: string | undefined): Promise<Found> {
  if (path === undefined) return { faults: [], warnings: [] }
  const say = (message: string) => [{ path: setting, message }]
  try {
    const isEmpty = (await readFirstLine(path)) === ''
    return { faults: isEmpty ? say(`the first line of ${path} is empty`) : [], warnings: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it can not be read'
    if (path.startsWith(credentials) && code === 'ENOENT')
      return { faults: [], warnings: say(`${path} is there while the unit runs alone: it was not looked at`) }
    return { faults: say(`the daemon can not read ${path} (${code})`), warnings: [] }
  }
}
