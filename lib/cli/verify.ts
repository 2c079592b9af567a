import type { Command } from 'commander'
import { printableLine } from '../base/text.ts'
import { systemClock } from '../base/time.ts'
import { durationMs } from '../config/duration.ts'
import { verify } from '../core/backup/verify.ts'
import { databaseOf } from '../core/open-rows.ts'
import { blobsOf } from './blobs.ts'
import type { Ctl } from './ctl.ts'
import { becomeOwner, findConfig, requireInstallation } from './installation.ts'
import { CheckFailed } from './output.ts'
import { createProgress } from './progress.ts'
import { commandOf } from './words.ts'

export function addVerifyCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'verify').action(async () => {
    const config = await findConfig(ctl.installation())
    await requireInstallation(ctl.installation(), config)
    becomeOwner(config.data_dir)
    const progress = createProgress(!ctl.isJson())
    const findings = await verify({
      dataDir: config.data_dir,
      location: await databaseOf(config),
      clock: systemClock,
      openBlobs: blobsOf(config),
      eventsKeptMs: durationMs(config.events.keep_for),
      told: progress.told,
    }).finally(progress.end)
    const lines = findings.map(one =>
      printableLine(`${one.check}: ${one.subject} ${one.found} (promised: ${one.promise})`),
    )
    ctl
      .output()
      .say({ ok: findings.length === 0, findings }, () => lines.join('\n') || 'all that was promised holds')
    if (findings.length > 0) throw new CheckFailed()
  })
}
