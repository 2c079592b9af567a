import type { Command } from 'commander'
import { BackupFault } from '../base/backup-fault.ts'
import { systemClock } from '../base/clock.ts'
import { settingOfPlace } from '../base/database-place.ts'
import { readFirstLine } from '../base/first-line.ts'
import { type MoveReport, moveRows, targetOf } from '../core/moving.ts'
import { type FilesMoveReport, moveFiles } from '../core/moving-files.ts'
import { databaseOf } from '../core/open-rows.ts'
import { bucketOf } from './blobs.ts'
import type { Ctl } from './ctl.ts'
import { becomeOwner, findConfig, requireInstallation } from './installation.ts'
import { CheckFailed, fieldsOf } from './output.ts'
import { createProgress, letOthersGoFirst } from './progress.ts'
import { commandOf } from './words.ts'

interface MigrateOptions {
  readonly to?: string
  readonly passwordFile?: string
  readonly blobs?: string
}

export function addMigrateCommand(program: Command, ctl: Ctl): void {
  const command = commandOf(program, 'migrate')
    .option('--to <url>', 'postgres://user@host/database, or sqlite for the file in data_dir')
    .option('--password-file <file>', 'a file whose first line is the password of the user of --to')
    .option(
      '--blobs <place>',
      'large messages: the bucket that `blobs` names (s3://name), or disk for data_dir',
    )
    .action((options: MigrateOptions) => {
      if (options.to === undefined && options.blobs === undefined)
        command.error('error: say what is to move: --to for the rows, --blobs for large messages', {
          exitCode: 2,
        })
      return migrate(ctl, options)
    })
}

async function migrate(ctl: Ctl, { to, passwordFile, blobs }: MigrateOptions): Promise<void> {
  const config = await findConfig(ctl.installation())
  await requireInstallation(ctl.installation(), config)
  const password = passwordFile === undefined ? undefined : await readFirstLine(passwordFile)
  const from = await databaseOf(config)
  const place = blobs === undefined ? undefined : placeOf(blobs, config.blobs)
  const target = to === undefined ? undefined : targetOf(config.data_dir, to, password)
  if (target === from) throw new BackupFault('the rows are there already')
  becomeOwner(config.data_dir)
  letOthersGoFirst()
  const progress = createProgress(!ctl.isJson())
  const { told } = progress
  const { data_dir: dataDir } = config
  try {
    // The files first: when the rows have moved, what is here is closed.
    const files = place && (await moveFiles({ dataDir, from, to: place, openBucket: bucketOf(config), told }))
    const rows =
      target === undefined
        ? undefined
        : await moveRows({ dataDir, from, to: target, clock: systemClock, told })
    progress.end()
    const isDone = (files?.isDone ?? true) && (rows?.isDone ?? true)
    const wasServer = config.database !== undefined
    const next = nextOf({
      isDone,
      running: rows?.running ?? files?.running ?? [],
      wasServer,
      to,
      place,
      passwordFile,
    })
    const texts = [files && textOfFiles(files), rows && textOfRows(rows), next]
    ctl
      .output()
      .say({ ...rows, ...(files && { blobs: files }), isDone, next }, () => texts.filter(Boolean).join('\n'))
    // A script must not set the places and start mailboxd yet.
    if (!isDone || (files?.missing ?? 0) > 0) throw new CheckFailed()
  } finally {
    progress.end()
  }
}

/** @param known `blobs` of the configuration, whose endpoint and key are asked */
function placeOf(blobs: string, known: string | undefined): 'bucket' | 'disk' {
  if (blobs !== 'disk' && blobs !== known)
    throw new BackupFault(
      `--blobs ${blobs}: set blobs = "${blobs}" and the table [s3] in the configuration first (what is in data_dir is found with them, too), or give disk`,
    )
  return blobs === 'disk' ? 'disk' : 'bucket'
}

interface Moved {
  readonly isDone: boolean
  readonly running: MoveReport['running']
  /** Whether the rows were on a server until now. */
  readonly wasServer: boolean
  readonly to: string | undefined
  readonly place: 'bucket' | 'disk' | undefined
  readonly passwordFile: string | undefined
}

function nextOf({ isDone, running, wasServer, to, place, passwordFile }: Moved): string {
  if (!isDone) {
    const nodes = running.map(({ id, name }) => `${name} (${id})`).join(', ')
    const where = nodes === '' ? '' : ` on ${nodes}`
    return `mailboxd runs${where}, so this is not all: stop it${nodes === '' ? '' : ' there'} (systemctl stop 'mailboxd*.socket' mailboxd) and run the same command again, which does what is left`
  }
  const settings = [
    to !== undefined && settingOfPlace(to),
    to !== undefined &&
      to !== 'sqlite' &&
      passwordFile !== undefined &&
      `and below [postgres] password_file with a file that the user of mailboxd may read, such as "${passwordFile}"`,
    place === 'disk' && 'take `blobs` out of the configuration',
  ].filter(Boolean)
  const left = [
    to !== undefined &&
      `what is left ${wasServer ? 'on the server that was set until now' : 'in mailboxd.sqlite'} is closed to mailboxd`,
    place === 'disk' && 'the objects stay in the bucket until you delete them there',
  ].filter(Boolean)
  return [[...settings, 'start mailboxd'].join(', '), ...left].join('; ')
}

function textOfRows({ isDone, put, removed, tables }: MoveReport): string {
  const rows = tables.reduce((sum, one) => sum + one.rows, 0)
  const compared = isDone ? { compared: `${rows} rows of ${tables.length} tables are the same there` } : {}
  return fieldsOf({ copied: `${put} rows`, removed: `${removed} rows`, ...compared })
}

function textOfFiles({ files, copied, missing }: FilesMoveReport): string {
  return fieldsOf({
    'large messages': `${files}, ${copied} of them copied now`,
    ...(missing > 0 && { missing: `${missing}, in neither place or damaged: mailboxctl verify names them` }),
  })
}
