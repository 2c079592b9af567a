import type { Command } from 'commander'
import { readStatus } from '../core/app/status.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf } from './output.ts'

export function addStatusCommand(program: Command, ctl: Ctl): void {
  program
    .command('status')
    .description('show what there is: names, inboxes, queue')
    .action(async () => {
      const status = await ctl.withApp(readStatus)
      ctl.output().say(status, () => fieldsOf(status))
    })
}
