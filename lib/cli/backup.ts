import {
  closeSync,
  createWriteStream,
  fstatSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { addAbortSignal, type Readable, type Writable } from 'node:stream'
import type { Command } from 'commander'
import { BackupFault, isDiskFull, tellSystemFault } from '../base/faults.ts'
import { nameOfUser } from '../base/file-permissions.ts'
import { packageVersion } from '../base/package-root.ts'
import { systemClock } from '../base/time.ts'

import type { Config } from '../config/load.ts'
import { secretKeyPath } from '../core/app/secret-key.ts'
import { type BackupReport, makeBackup, noRoomFor } from '../core/backup/backup.ts'
import { type OpenedBackup, openBackup } from '../core/backup/contents.ts'
import { restoreBackup } from '../core/backup/restore.ts'
import { blobsOf } from './blobs.ts'
import { BrokenOff, breakable } from './breakable.ts'
import type { Ctl } from './ctl.ts'
import {
  actAsOwner,
  becomeOwner,
  findConfig,
  makeDataDirectory,
  requireInstallation,
} from './installation.ts'
import { CheckFailed, fieldsOf } from './output.ts'
import { createProgress, letOthersGoFirst } from './progress.ts'
import { writeText } from './terminal.ts'
import { commandOf } from './words.ts'

export function addBackupCommands(program: Command, ctl: Ctl): void {
  commandOf(program, 'backup')
    .argument('<file>', 'a file that does not exist yet, or - for the standard output')
    .option('--without-key', 'leave secrets.key out: keep it elsewhere, and restore it next to the backup')
    .action((file: string, { withoutKey }: { withoutKey?: true }) => backUp(ctl, file, withoutKey !== true))

  commandOf(program, 'restore')
    .argument('<file>', 'the backup, or - for the standard input')
    .action((file: string) => restore(ctl, file))
}

async function backUp(ctl: Ctl, file: string, withKey: boolean): Promise<void> {
  const config = await findConfig(ctl.installation())
  await requireInstallation(ctl.installation(), config)
  requireFile(config)
  const isPiped = file === '-'
  if (isPiped && process.stdout.isTTY) {
    throw new BackupFault('a backup is not written to a terminal: name a file')
  }
  const asCaller = actAsOwner(config.data_dir)
  const target = isPiped ? pipedTarget() : fileTarget(file, asCaller)
  letOthersGoFirst()
  const progress = createProgress(!ctl.isJson())
  let report: BackupReport
  try {
    report = await breakable(signal =>
      makeBackup({
        dataDir: config.data_dir,
        openOutput: target.open,
        program: packageVersion(),
        clock: systemClock,
        withKey,
        hasBucket: config.blobs !== undefined,
        signal,
        told: progress.told,
      }),
    )
    target.finish()
  } catch (error) {
    target.discard()
    throw error instanceof BrokenOff ? error : target.faultOf(error)
  } finally {
    progress.end()
  }
  const { missing, damaged } = report
  const text = () => fieldsOf({ ...report, missing: missing.length, damaged: damaged.length })
  if (isPiped) writeText('stderr', `${text()}\n`)
  else ctl.output().say(report, text)
  const left = target.leftOfOthers()
  if (left.length > 0) {
    writeText(
      'stderr',
      `left of backups that were cut off, and may be removed if no other backup is being made: ${left.join(', ')}\n`,
    )
  }
  if (missing.length + damaged.length > 0) {
    writeText(
      'stderr',
      'the backup is complete, but files were missing or damaged before: mailboxctl verify names them\n',
    )
    throw new CheckFailed()
  }
}

/** Where a backup is written. */
interface Target {
  /** @throws BackupFault */
  open(): Writable
  /** Gives the backup its name, when all of it was written. @throws BackupFault */
  finish(): void
  /** Removes what was written: half of a backup must not pass for a whole one. */
  discard(): void
  /** What is reported of an error. */
  faultOf(error: unknown): unknown
  /** Files next to it that a backup has left that was killed. */
  leftOfOthers(): string[]
}

function pipedTarget(): Target {
  let refused: Error | undefined
  return {
    open() {
      // If its reader ends early, the writing fails.
      process.stdout.removeAllListeners('error').on('error', error => {
        refused = error
      })
      return process.stdout
    },
    finish() {},
    discard() {},
    faultOf(error) {
      if (refused === undefined) return error
      const message = `the backup is not complete: the standard output took no more of it (${refused.message})`
      return new BackupFault(message, { cause: refused })
    },
    leftOfOthers: () => [],
  }
}

const unfinished = '.unfinished'

/**
 * A file that is called unfinished until all of it is on the disk, so that a backup that was killed is recognised.
 * @param asCaller does something as the user who called, and who may be root: everything else is done as the daemon's user
 */
function fileTarget(path: string, asCaller: <T>(work: () => T) => T): Target {
  const temporary = `${path}${unfinished}`
  let inode: number | undefined
  const isOurs = () => statSync(temporary, { throwIfNoEntry: false })?.ino === inode
  return {
    open() {
      const fd = asCaller(() => {
        if (lstatSync(path, { throwIfNoEntry: false }))
          throw new BackupFault(`${path} exists already, and a backup overwrites nothing: name another file`)
        try {
          rmSync(temporary, { force: true })
          return openSync(temporary, 'wx', 0o600)
        } catch (error) {
          throw isDiskFull(error) ? error : notOpened(temporary, error)
        }
      })
      inode = fstatSync(fd).ino
      return createWriteStream(temporary, { fd, flush: true })
    },
    finish() {
      asCaller(() => {
        if (!isOurs())
          throw new BackupFault(
            `${temporary} was removed while the backup was written to it: make the backup again`,
          )
        renameSync(temporary, path)
        syncFolder(dirname(path))
      })
    },
    discard() {
      if (inode !== undefined) asCaller(() => isOurs() && rmSync(temporary))
    },
    faultOf: error => (isDiskFull(error) ? noRoomFor(temporary, error) : error),
    leftOfOthers: () =>
      asCaller(() => readdirSync(dirname(path)))
        .filter(name => name.endsWith(unfinished))
        .slice(0, 10)
        .map(name => join(dirname(path), name)),
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

function syncFolder(path: string): void {
  const folder = openSync(path, 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

function notOpened(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'code' in error)) return error
  const why = tellSystemFault(error) ?? `${path} cannot be opened (${error.code})`
  return new BackupFault(error.code === 'ENOENT' ? `${why}, and make its folder` : why, {
    cause: error,
  })
}

async function restore(ctl: Ctl, file: string): Promise<void> {
  const config = await findConfig(ctl.installation())
  requireFile(config)
  const dataDir = config.data_dir
  const handle =
    file === '-'
      ? undefined
      : await open(file, 'r').catch(error => {
          throw notOpened(file, error)
        })
  makeDataDirectory(ctl.installation(), dataDir)
  becomeOwner(dataDir)
  const progress = createProgress(!ctl.isJson())
  try {
    const report = await breakable(async signal => {
      const source = addAbortSignal(signal, handle?.createReadStream() ?? process.stdin)
      const { told } = progress
      return restoreBackup(
        { dataDir, openBlobs: blobsOf(config), signal, told },
        await openNamed(source, file),
      )
    })
    progress.end()
    const note = report.hasKey ? undefined : awaitsKey(dataDir)
    const shown = { ...report, missing: report.missing.length, dataDir }
    ctl
      .output()
      .say({ ...report, dataDir, ...(note && { note }) }, () =>
        [fieldsOf(shown), note].filter(Boolean).join('\n\n'),
      )
    // A script must not go on to start mailboxd, which does not start without the key.
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
