import { existsSync } from 'node:fs'
import { type FileHandle, lstat, open, rm } from 'node:fs/promises'
import { addAbortSignal, type Readable, Writable } from 'node:stream'
import type { Command } from 'commander'
import { BackupFault } from '../base/backup-fault.ts'
import { systemClock } from '../base/clock.ts'
import { nameOfUser } from '../base/forbidden.ts'
import { createIds } from '../base/ids.ts'
import { packageVersion } from '../base/package-root.ts'
import { tellSystemFault } from '../base/system-fault.ts'
import { ConfigFault } from '../config/fault.ts'
import type { Config } from '../config/load.ts'
import { secretKeyPath } from '../core/app/secret-key.ts'
import { type BackupReport, makeBackup } from '../core/backup/backup.ts'
import { type OpenedBackup, openBackup } from '../core/backup/contents.ts'
import { restoreBackup } from '../core/backup/restore.ts'
import { blobsOf } from './blobs.ts'
import { BrokenOff, breakable } from './breakable.ts'
import type { Ctl } from './ctl.ts'
import {
  becomeOwner,
  configSource,
  daemonUser,
  findConfig,
  requireInstallation,
  systemConfigPath,
} from './installation.ts'
import { CheckFailed, fieldsOf } from './output.ts'
import { createProgress, letOthersGoFirst } from './progress.ts'
import { writeText } from './terminal.ts'
import { commandOf } from './words.ts'

interface BackupOptions {
  readonly base?: string
  readonly key: boolean
}

export function addBackupCommands(program: Command, ctl: Ctl): void {
  commandOf(program, 'backup')
    .argument('<file>', 'a file that is not there yet, or - for the standard output')
    .option(
      '--base <file>',
      'leave out the files of messages that are in this earlier backup, or in what it builds on',
    )
    .option(
      '--without-key',
      'leave secrets.key out: it is to be kept elsewhere, and restored beside the backup',
    )
    .action(async (file: string, { base, withoutKey }: { base?: string; withoutKey?: true }) => {
      await backUp(ctl, file, { key: withoutKey !== true, ...(base !== undefined && { base }) })
    })

  commandOf(program, 'restore')
    .argument('<file...>', 'the backup, and those that it builds on, in any order; - is the standard input')
    .action((files: string[]) => restore(ctl, files))
}

async function backUp(ctl: Ctl, file: string, { base: basePath, key }: BackupOptions): Promise<void> {
  const config = await findConfig(ctl.installation())
  await requireInstallation(ctl.installation(), config)
  requireFile(config)
  const isPiped = file === '-'
  if (isPiped && process.stdout.isTTY) {
    throw new BackupFault('a backup is not written to a terminal: name a file')
  }
  // Who reads no further has half of a backup, which is none: the writing fails.
  let refused: Error | undefined
  if (isPiped) {
    process.stdout.removeAllListeners('error').on('error', error => {
      refused = error
    })
  }
  // The base and the target are opened by the calling user, who may be root; everything else is read as the daemon's user.
  const baseHandle = basePath === undefined ? undefined : await opened(basePath, 'r')
  if (!isPiped) await removeEmpty(file)
  const target = isPiped ? undefined : await opened(file, 'wx')
  becomeOwner(config.data_dir)
  letOthersGoFirst()
  const progress = createProgress(!ctl.isJson())
  let report: BackupReport
  try {
    const base = baseHandle && (await openNamed(baseHandle.createReadStream(), basePath!))
    await base?.rest.return(undefined)
    report = await breakable(signal =>
      makeBackup({
        dataDir: config.data_dir,
        output: target ? writerOf(target) : process.stdout,
        program: packageVersion(),
        clock: systemClock,
        ids: createIds(systemClock),
        withKey: key,
        hasBucket: config.blobs !== undefined,
        signal,
        told: progress.told,
        ...(base && { base }),
      }),
    )
    await target?.sync()
    if (target && (await target.stat()).nlink === 0)
      throw new BackupFault(`${file} was removed while the backup was written to it: write it again`)
  } catch (error) {
    if (target) await discard(target, file)
    if (refused === undefined || error instanceof BrokenOff) throw error
    const message = `the backup is not whole: the standard output took no more of it (${refused.message})`
    throw new BackupFault(message, { cause: refused })
  } finally {
    progress.end()
    await target?.close()
  }
  const text = () => fieldsOf({ ...report, missing: report.missing.length })
  if (isPiped) writeText('stderr', `${text()}\n`)
  else ctl.output().say(report, text)
  if (report.missing.length > 0) {
    writeText(
      'stderr',
      'the backup is whole, but files that rows point to were missing before: mailboxctl verify names them\n',
    )
    throw new CheckFailed()
  }
}

/** @throws BackupFault where the rows are on a server, which has backups of its own */
function requireFile({ database, blobs, data_dir: dataDir }: Config): void {
  if (database === undefined) return
  const large = blobs === undefined ? `${dataDir}/raw` : `the bucket (${blobs}), ${dataDir}/bucket.owner`
  throw new BackupFault(
    `the rows of this installation are on a PostgreSQL server: back up and restore them there (pg_dump, or its archive of the log), and beside them ${large} and ${dataDir}/secrets.key; docs/operators/postgres.md says in which order`,
  )
}

/** @throws BackupFault when it is not there, or there already */
async function opened(path: string, flag: 'wx' | 'r'): Promise<FileHandle> {
  try {
    return await open(path, flag, 0o600)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
    const why =
      error.code === 'EEXIST'
        ? `${path} is there already, and nothing is written over it`
        : (tellSystemFault(error) ?? `${path} can not be opened (${error.code})`) +
          (error.code === 'ENOENT' && flag === 'wx' ? ', and make its folder' : '')
    throw new BackupFault(why, { cause: error })
  }
}

/** The file stays open at the end of the stream: it is to be synced, or emptied. */
function writerOf(file: FileHandle): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      file.writeFile(chunk).then(() => done(), done)
    },
  })
}

/**
 * Removes an empty file: a backup that ran out of disk, or was interrupted, leaves one if root's rights were given up by then. It would
 * keep the next backup from being written.
 */
async function removeEmpty(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined)
  if (found?.isFile() && found.size === 0) await rm(path, { force: true }).catch(() => {})
}

/** Half of a backup must not pass for a whole one. */
async function discard(target: FileHandle, path: string): Promise<void> {
  await target.truncate(0)
  // Not permitted in root's folder after root became the daemon's user: the file is left empty, and the next backup removes it.
  await rm(path, { force: true }).catch(() => {})
}

async function restore(ctl: Ctl, files: readonly string[]): Promise<void> {
  const config = await findConfig(ctl.installation())
  requireFile(config)
  const dataDir = config.data_dir
  if (process.getuid?.() === 0 && !existsSync(dataDir)) {
    const source = configSource(ctl.installation())
    const how =
      source === systemConfigPath
        ? `for the user that mailboxd runs as: install -d -m 700 -o ${daemonUser} -g ${daemonUser} ${dataDir}`
        : `as the user that mailboxd is to run as: mkdir -m 700 ${dataDir}`
    throw new ConfigFault(source, [{ path: 'data_dir', message: `${dataDir} is not there: make it ${how}` }])
  }
  const handles = await Promise.all(files.map(file => (file === '-' ? undefined : opened(file, 'r'))))
  becomeOwner(dataDir)
  const progress = createProgress(!ctl.isJson())
  try {
    const report = await breakable(async signal => {
      const sources = handles.map(handle =>
        addAbortSignal(signal, handle?.createReadStream() ?? process.stdin),
      )
      const backups = await Promise.all(sources.map((source, at) => openNamed(source, files[at]!)))
      const { told } = progress
      return restoreBackup({ dataDir, openBlobs: blobsOf(config), signal, told }, backups)
    })
    progress.end()
    const note = report.hasKey ? undefined : awaitsKey(dataDir)
    const shown = { ...report, missing: report.missing.length, dataDir }
    ctl
      .output()
      .say({ ...report, dataDir, ...(note && { note }) }, () =>
        [fieldsOf(shown), note].filter(Boolean).join('\n\n'),
      )
    // Who calls this before the start of mailboxd must not go on: without the key it does not start.
    if (report.missing.length > 0 || !report.hasKey) throw new CheckFailed()
  } finally {
    progress.end()
  }
}

/** @throws BackupFault with the name of what is none */
async function openNamed(source: Readable, file: string): Promise<OpenedBackup> {
  const name = file === '-' ? 'the standard input' : file
  try {
    return await openBackup(source, name)
  } catch (error) {
    if (!(error instanceof BackupFault)) throw error
    throw new BackupFault(`${name} is no backup of mailboxd, or not whole: ${error.message}`, {
      cause: error.cause,
    })
  }
}

/** What is to be done after a backup without the key of its secrets; asked as the user whose data it is. */
function awaitsKey(dataDir: string): string {
  const path = secretKeyPath(dataDir)
  return `the backup was made without secrets.key, and mailboxd and most of mailboxctl end with 78 until it is there, for no DKIM key and no webhook secret can be read. Put the one that was kept elsewhere there: install -m 600 -o ${nameOfUser()} secrets.key ${path}`
}
