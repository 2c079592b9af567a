import type { Command } from 'commander'
import { rotateSecrets } from '../core/app/rotation.ts'
import type { Ctl } from './ctl.ts'

export function addSecretsCommands(program: Command, ctl: Ctl): void {
  const secrets = program.command('secrets').description('the secrets that are encrypted in the database')

  secrets
    .command('rotate')
    .description('encrypt all secrets under a new secrets.key, while mailboxd is stopped; then make a backup')
    .action(async () => {
      const done = await ctl.withApp(rotateSecrets)
      ctl
        .output()
        .say(done, () => `${done.count} secrets are encrypted under the new key ${done.keyId}: make a backup`)
    })
}
