import { readFirstLine } from '../base/first-line.ts'
import type { Fault } from '../config/fault.ts'
import type { Config } from '../config/load.ts'

/** Where systemd puts what a unit is given, as long as it runs. */
const credentials = '/run/credentials/'

/** Whether the daemon can read the secret of the bucket, where it has one. */
export async function checkSecretFiles({
  blobs,
  s3,
}: Config): Promise<{ faults: Fault[]; warnings: Fault[] }> {
  const path = s3.secret_access_key_file
  if (blobs === undefined || path === undefined) return { faults: [], warnings: [] }
  const say = (message: string) => [{ path: 's3.secret_access_key_file', message }]
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
