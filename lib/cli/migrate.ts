import type { Command } from 'commander'
import { BackupFault } from '../base/faults.ts'
import { withoutPassword } from '../base/files.ts'
import { readFirstLine } from '../base/text.ts'
import { systemClock } from '../base/time.ts'
import { moveRows, targetOf } from '../core/moving.ts'
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
    const files = place && (await moveFiles({ dataDir, from, to: place, openBucket: bucketOf(config), told }))
    const tables =
      target === undefined
        ? undefined
        : await moveRows({ dataDir, from, to: target, clock: systemClock, told })
    progress.end()
    const wasServer = config.database !== undefined
    const next = nextOf({ wasServer, to, place, passwordFile })
    const rows = tables?.reduce((sum, one) => sum + one.rows, 0)
    const texts = [
      files && textOfFiles(files),
      tables &&
        fieldsOf({
          moved: `${rows} rows of ${tables.length} tables, which are the same there by count and checksum`,
        }),
      next,
    ]
    ctl
      .output()
      .say({ ...(tables && { rows, tables }), ...(files && { blobs: files }), next }, () =>
        texts.filter(Boolean).join('\n'),
      )
    if ((files?.missing ?? 0) > 0) throw new CheckFailed()
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
  /** Whether the rows were on a server until now. */
  readonly wasServer: boolean
  readonly to: string | undefined
  readonly place: 'bucket' | 'disk' | undefined
  readonly passwordFile: string | undefined
}

/** What the operator does now. */
function nextOf({ wasServer, to, place, passwordFile }: Moved): string {
  const settings = [
    to === 'sqlite' && 'take `database` out of the configuration',
    to !== undefined &&
      to !== 'sqlite' &&
      `set database = "${withoutPassword(to)}" in the configuration${passwordFile === undefined ? '' : `, and below [postgres] password_file with a file that the user of mailboxd may read, such as "${passwordFile}"`}`,
    place === 'disk' && 'take `blobs` out of the configuration',
  ].filter(Boolean)
  const left = [
    to !== undefined &&
      (wasServer
        ? 'do not start a mailboxd on the database that was set until now: it still has the rows'
        : 'mailboxd.sqlite is now called mailboxd.sqlite.moved; remove it when you need no way back'),
    place === 'disk' && 'the objects stay in the bucket until you delete them there',
  ].filter(Boolean)
  return [[...settings, 'start mailboxd'].join(', '), ...left].join('; ')
}

function textOfFiles({ files, copied, missing }: FilesMoveReport): string {
  return fieldsOf({
    'large messages': `${files}, ${copied} of them copied now`,
    ...(missing > 0 && { missing: `${missing}, in neither place or damaged: mailboxctl verify names them` }),
  })
}
