import type { Command } from 'commander'
import { rotateSecrets } from '../core/app/rotation.ts'
import { readRunning } from '../core/running.ts'
import { confirm } from './confirm.ts'
import type { Ctl } from './ctl.ts'
import { Refused } from './output.ts'
import { commandOf } from './words.ts'

export function addSecretsCommands(program: Command, ctl: Ctl): void {
  const secrets = commandOf(program, 'secrets')

  secrets
    .command('rotate')
    .description('encrypt all secrets under a new secrets.key, while mailboxd is stopped; then make a backup')
    .option('--yes', 'do not ask')
    .action(async ({ yes }: { yes?: boolean }) => {
      if (yes !== true) {
        // Else it is refused behind the yes.
        const { isUp } = await ctl.withRows(rows => readRunning(rows.config.data_dir))
        if (isUp) throw new Refused('mailboxd runs: stop it before its secrets are rotated')
        await confirm(
          'Backups that were made before can not be read with the new key: keep the old one with them.',
        )
      }
      const done = await ctl.withApp(rotateSecrets)
      ctl
        .output()
        .say(done, () => `${done.count} secrets are encrypted under the new key ${done.keyId}: make a backup`)
    })
}
