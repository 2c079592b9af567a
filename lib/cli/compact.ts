import type { Command } from 'commander'
import { compact } from '../core/compact.ts'
import type { Ctl } from './ctl.ts'

const mebibytes = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

export function addCompactCommand(program: Command, ctl: Ctl): void {
  program
    .command('compact')
    .description(
      'write the database anew, while mailboxd is stopped: nothing that was deleted stays in its file, which becomes as small as it can; it needs as much room again meanwhile',
    )
    .action(async () => {
      const done = await ctl.withApp(compact)
      ctl
        .output()
        .say(done, () => `the database has ${mebibytes(done.after)} now, and had ${mebibytes(done.before)}`)
    })
}
