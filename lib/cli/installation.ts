import { execFileSync, type StdioOptions } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import { dirname } from 'node:path'
import { ConfigFault } from '../config/fault.ts'
import { type Config, loadConfig, localConfig } from '../config/load.ts'
import { secretKeyPath } from '../core/app/secret-key.ts'
import { requireFinished } from '../core/backup/unfinished.ts'
import { isDatabaseFileEmpty, requireNoTraces } from '../core/missing-database.ts'
import { databaseOf, hasSecrets } from '../core/open-rows.ts'
import { readRunning } from '../core/running.ts'

/** The user that the unit of systemd runs the daemon as. */
const daemonUser = 'mailboxd'

export const systemConfigPath = '/etc/mailboxd/mailboxd.toml'

/** Which installation is meant: by `--config` or MAILBOXD_CONFIG, by `--data`, or neither. */
export interface Installation {
  readonly config?: string
  /** The data directory of local mode. */
  readonly data?: string
}

/**
 * The configuration that is named; without any that of the system, or else of local mode in this directory.
 * @throws what the system says where this user may not see whether there is one of the system
 */
export async function findConfig({ config, data }: Installation): Promise<Config> {
  if (config !== undefined) return loadConfig(config)
  if (data !== undefined) return localConfig({ dataDir: data })
  return isThere(systemConfigPath) ? loadConfig(systemConfigPath) : localConfig()
}

/** What the configuration is called in what is said of it. */
export function configSource({ config, data }: Installation): string {
  if (config !== undefined) return config
  return data === undefined && isThere(systemConfigPath) ? systemConfigPath : 'local mode'
}

/** @throws BackupFault where half of a restored backup is; DatabaseMissing; ConfigFault where there is no data, what the system says where it can't be seen: an installation is made by the daemon alone, for its own user */
export async function requireInstallation(installation: Installation, config: Config): Promise<void> {
  requireFinished(config.data_dir)
  if (await isMade(config)) return
  if (config.database === undefined) await requireNoTraces(config)
  const how = awaitsSetup(installation)
    ? `run mailboxctl setup as root, which writes ${systemConfigPath} and starts mailboxd`
    : config.database !== undefined && (await hasSecrets(await databaseOf(config))) === true
      ? `the rows of one are on the server; put its secrets.key there, from a backup of its data directory`
      : 'start mailboxd, which makes it'
  const message = `there is no installation in ${config.data_dir}: ${how}, or name the one that you mean with --config (a server), MAILBOXD_CONFIG, or --data (local mode)`
  throw new ConfigFault(configSource(installation), [{ path: 'data_dir', message }])
}

async function isMade({ database, data_dir: dataDir }: Config): Promise<boolean> {
  if (database === undefined) return !isDatabaseFileEmpty(dataDir)
  // Of rows on a server only the key of their secrets lies here; who opens them says that it is missing.
  return isThere(secretKeyPath(dataDir)) || (await readRunning(dataDir)).last !== undefined
}

/** Whether a package was installed here, which makes the directory of the configuration, and is not set up yet. */
function awaitsSetup({ config, data }: Installation): boolean {
  const isLocal = config === undefined && data === undefined && !isThere(systemConfigPath)
  return isLocal && isThere(dirname(systemConfigPath))
}

/** @throws what the system says where this user may not look: then nobody knows */
function isThere(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && /^ENO(ENT|TDIR)$/.test(String(error.code))) return false
    throw error
  }
}

/**
 * root becomes the user that the daemon runs as: whom the data belongs to or, where there is none yet or root has taken that of the
 * system, who the unit names. Gives whether it could.
 */
export function becomeDaemonUser(dataDir: string, source: string): boolean {
  if (process.getuid?.() !== 0) return true
  if (existsSync(dataDir) && (source !== systemConfigPath || statSync(dataDir).uid !== 0)) {
    becomeOwner(dataDir)
    return true
  }
  try {
    become(daemonUser, daemonUser)
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_UNKNOWN_CREDENTIAL') return false
    throw error
  }
}

/** root becomes the user that the data belongs to: a file of root's in there would lock the daemon out. */
export function becomeOwner(dataDir: string): void {
  const owner = ownerOf(dataDir)
  if (owner) become(owner.uid, owner.gid)
}

/**
 * As `becomeOwner`, but root can come back: a backup is read from the data of that user, and written where only root may write.
 * @returns does its argument as the user who called
 */
export function actAsOwner(dataDir: string): <T>(work: () => T) => T {
  const owner = ownerOf(dataDir)
  if (!owner) return work => work()
  const { uid, gid } = owner
  const act = () => {
    process.setegid?.(gid)
    process.seteuid?.(uid)
  }
  flushCompileCache()
  process.setgroups?.([gid])
  act()
  return work => {
    process.seteuid?.(0)
    process.setegid?.(0)
    try {
      return work()
    } finally {
      act()
    }
  }
}

/** Whom root finds the data to belong to, if to another user. */
function ownerOf(dataDir: string): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0 || !existsSync(dataDir)) return undefined
  const { uid, gid } = statSync(dataDir)
  if (uid === 0) return undefined
  // If the directory was given away without its group, the group is still that of root, which the daemon is not in.
  return { uid, gid: gid === 0 ? (loginGroup(uid) ?? gid) : gid }
}

/**
 * Makes the data directory if it is missing, as `mailboxctl setup` and systemd make it: mode 0700, and the daemon's user owns
 * it if root makes it for a configuration.
 */
export function makeDataDirectory({ data }: Installation, dataDir: string): void {
  if (existsSync(dataDir)) return
  // The directories above it are for everybody.
  mkdirSync(dirname(dataDir), { recursive: true })
  mkdirSync(dataDir, { mode: 0o700 })
  const user = process.getuid?.() === 0 && data === undefined ? findDaemonUser() : undefined
  if (user) chownSync(dataDir, user.uid, user.gid)
}

/** The user that the daemon runs as, if this machine has it. */
export function findDaemonUser(): { uid: number; gid: number } | undefined {
  const [uid, gid] = [askId('-u', daemonUser), askId('-g', daemonUser)]
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/**
 * The command as the user that the data belongs to, where this is root and they are another's: a daemon of root's would leave files there
 * that the one of this user can not use.
 */
export function asOwner(dataDir: string, command: string): string | undefined {
  const uid = process.getuid?.() === 0 ? statSync(dataDir, { throwIfNoEntry: false })?.uid : undefined
  if (uid === undefined || uid === 0) return undefined
  const name = nameOf(uid)
  // runuser takes no numbers.
  return name === undefined
    ? `setpriv --reuid=${uid} --regid=${statSync(dataDir).gid} --clear-groups -- ${command}`
    : `runuser -u ${name} -- ${command}`
}

const nameOf = (uid: number) => askId('-nu', uid)

function loginGroup(uid: number): number | undefined {
  const group = askId('-g', uid)
  return group === undefined ? undefined : Number(group)
}

function askId(what: '-nu' | '-u' | '-g', user: number | string): string | undefined {
  try {
    const stdio: StdioOptions = ['ignore', 'pipe', 'ignore']
    return execFileSync('id', [what, String(user)], { encoding: 'utf8', stdio }).trim()
  } catch {
    return undefined
  }
}

function become(user: number | string, group: number | string): void {
  // Whom root becomes may not write where root keeps its compiled code.
  flushCompileCache()
  process.setgroups?.([group])
  process.setgid?.(group)
  process.setuid?.(user)
}
