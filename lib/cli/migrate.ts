import type { Command } from 'commander'
import { BackupFault } from '../base/backup-fault.ts'
import { systemClock } from '../base/clock.ts'
import { readFirstLine } from '../base/first-line.ts'
import { type MoveReport, moveRows, targetOf } from '../core/moving.ts'
import { databaseOf } from '../core/open-rows.ts'
import type { Ctl } from './ctl.ts'
import { becomeOwner, findConfig, requireInstallation } from './installation.ts'
import { CheckFailed, fieldsOf } from './output.ts'
import { createProgress, letOthersGoFirst } from './progress.ts'
import { commandOf } from './words.ts'

interface MigrateOptions {
  readonly to: string
  readonly passwordFile?: string
}

export function addMigrateCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'migrate')
    .requiredOption('--to <url>', 'postgres://user@host/database, or sqlite for the file in data_dir')
    .option('--password-file <file>', 'a file whose first line is the password of the user of --to')
    .action((options: MigrateOptions) => migrate(ctl, options))
}

async function migrate(ctl: Ctl, { to, passwordFile }: MigrateOptions): Promise<void> {
  const config = await findConfig(ctl.installation())
  requireInstallation(ctl.installation(), config)
  const password = passwordFile === undefined ? undefined : await readFirstLine(passwordFile)
  const from = await databaseOf(config)
  const target = targetOf(config.data_dir, to, password)
  if (target === from) throw new BackupFault('the rows are there already')
  becomeOwner(config.data_dir)
  letOthersGoFirst()
  const progress = createProgress(!ctl.isJson())
  const report = await moveRows({
    dataDir: config.data_dir,
    from,
    to: target,
    clock: systemClock,
    told: progress.told,
  }).finally(progress.end)
  ctl.output().say({ ...report, next: nextOf(report, to) }, () => textOf(report, nextOf(report, to)))
  // A script must not set the database and start mailboxd yet.
  if (!report.isDone) throw new CheckFailed()
}

function nextOf({ isDone }: MoveReport, to: string): string {
  if (!isDone)
    return "mailboxd runs, so this is not all: stop it (systemctl stop 'mailboxd*.socket' mailboxd) and run the same command again, which copies what changed meanwhile and compares all"
  return to === 'sqlite'
    ? 'take `database` out of the configuration and start mailboxd; what is left on the server is closed to mailboxd'
    : `set database = "${withoutPassword(to)}" in the configuration and start mailboxd; what is left in mailboxd.sqlite is closed to mailboxd`
}

function withoutPassword(url: string): string {
  const parsed = URL.parse(url)
  if (!parsed || (parsed.password === '' && !parsed.searchParams.has('password'))) return url
  parsed.password = ''
  parsed.searchParams.delete('password')
  return parsed.href
}

function textOf({ isDone, put, removed, tables }: MoveReport, next: string): string {
  const rows = tables.reduce((sum, one) => sum + one.rows, 0)
  const compared = isDone ? { compared: `${rows} rows of ${tables.length} tables are the same there` } : {}
  return `${fieldsOf({ copied: `${put} rows`, removed: `${removed} rows`, ...compared })}\n${next}`
}
