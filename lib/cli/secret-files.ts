import { constants, existsSync } from 'node:fs'
import { access } from 'node:fs/promises'
import { tellNotRunning } from '../base/faults.ts'
import { findForbidden, forbiddenOf, tellForbidden } from '../base/file-permissions.ts'
import { readFirstLine } from '../base/text.ts'
import type { Fault } from '../config/fault.ts'
import type { Config } from '../config/load.ts'
import { readNextKey, readSecretKey, SecretKeyFault, secretKeyPath } from '../core/app/secret-key.ts'
import { databaseOf, databasePath, hasSecrets } from '../core/open-rows.ts'
import { systemConfigPath } from './installation.ts'

interface Found {
  readonly faults: Fault[]
  readonly warnings: Fault[]
}

/** Whether the daemon can read the secret of the bucket and the passwords of the database's server and of smarthosts, where it has them. */
export async function checkSecretFiles({ blobs, s3, database, postgres, delivery }: Config): Promise<Found> {
  const found = [
    blobs !== undefined && (await check('s3.secret_access_key_file', s3.secret_access_key_file)),
    await checkDatabasePassword({ database, postgres }),
    ...(await Promise.all(
      delivery.route.map((route, index) =>
        check(`delivery.route[${index}].password_file`, route.password_file),
      ),
    )),
  ].filter(one => one !== false)
  return { faults: found.flatMap(one => one.faults), warnings: found.flatMap(one => one.warnings) }
}

/** Whether the daemon can read the password of the database's server, where it has one. */
export async function checkDatabasePassword({
  database,
  postgres,
}: Pick<Config, 'postgres'> & { readonly database?: string | undefined }): Promise<Found> {
  return check('postgres.password_file', database === undefined ? undefined : postgres.password_file)
}

/**
 * Whether the daemon can read its own configuration. Another file than that of the system may be one that somebody tries out:
 * there it is a warning.
 * @param source the file
 */
export async function checkConfigFile(source: string): Promise<Found> {
  try {
    await access(source, constants.R_OK)
    return { faults: [], warnings: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it can not be read'
    const forbidden = forbiddenOf(error, undefined)
    const how = forbidden ? `: ${tellForbidden(forbidden)}` : ''
    const found = [{ path: '', message: `the daemon can not read this file (${code})${how}` }]
    return source === systemConfigPath ? { faults: found, warnings: [] } : { faults: [], warnings: found }
  }
}

/** Whether the daemon may use its data directory, and the key in there is the one that it needs. */
export async function checkData(config: Config): Promise<Found> {
  const forbidden = findForbidden(config.data_dir, 'read', config.data_dir)
  if (forbidden === undefined) return checkSecretKey(config)
  return { faults: [{ path: 'data_dir', message: tellForbidden(forbidden) }], warnings: [] }
}

/** Whether the key is there that an installation on this machine sealed its secrets with: without it mailboxd does not start. */
async function checkSecretKey(config: Config): Promise<Found> {
  const { data_dir: dataDir, database } = config
  const path = secretKeyPath(dataDir)
  const say = (message: string) => ({ faults: [{ path: 'data_dir', message }], warnings: [] })
  try {
    if ((await readSecretKey(dataDir)) ?? (await readNextKey(dataDir))) return { faults: [], warnings: [] }
  } catch (error) {
    if (error instanceof SecretKeyFault) return say(error.message)
    throw error
  }
  const isThere = database !== undefined || existsSync(databasePath(dataDir))
  const isSealed = isThere ? await hasSecretsOf(config) : false
  if (isSealed === true) {
    return say(
      `${path} is missing, and the secrets in the database can not be read without it: restore it from the backup of the data directory, or copy it from another node where this one is new`,
    )
  }
  if (isSealed === false || database === undefined) return { faults: [], warnings: [] }
  const why = isSealed.message
  const message = `${path} is missing, and whether there are secrets in the database that it is needed for is not known (${why}): if this is no new installation, restore it from the backup of the data directory`
  return { faults: [], warnings: [{ path: 'data_dir', message }] }
}

/** As `hasSecrets`; where the password can't be read, that is why. */
async function hasSecretsOf(config: Config): Promise<boolean | Error> {
  try {
    return await hasSecrets(await databaseOf(config))
  } catch (error) {
    if (error instanceof Error && 'code' in error) return error
    throw error
  }
}

async function check(setting: string, path: string | undefined): Promise<Found> {
  if (path === undefined) return { faults: [], warnings: [] }
  const say = (message: string) => [{ path: setting, message }]
  try {
    const isEmpty = (await readFirstLine(path)) === ''
    return { faults: isEmpty ? say(`the first line of ${path} is empty`) : [], warnings: [] }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'it can not be read'
    const isLater = tellNotRunning(path)
    if (isLater !== undefined) return { faults: [], warnings: say(`${isLater}: it was not looked at`) }
    const forbidden = forbiddenOf(error, undefined)
    const how = forbidden
      ? `: ${tellForbidden(forbidden)}`
      : code === 'ENOENT'
        ? ': make it, with the secret in its first line'
        : ''
    return { faults: say(`the daemon can not read ${path} (${code})${how}`), warnings: [] }
  }
}
