import type { Command } from 'commander'
import type { Ctl } from './ctl.ts'
import { fieldsOf } from './output.ts'
import { commandOf } from './words.ts'

/** What of inboxes is the operator's alone; the rest are operations. */
export function addInboxCommands(program: Command, ctl: Ctl): void {
  const inbox = commandOf(program, 'inbox')

  inbox
    .command('suspend')
    .description('keep an inbox from sending, its drafts too; it receives all the same')
    .argument('<id>')
    .option('--reason <text>', 'why, for the events')
    .action(async (id: string, { reason }: { reason?: string }) => {
      const { suspendInbox } = await import('../core/account/suspension.ts')
      const suspension = await ctl.withApp(app => suspendInbox(app, id, reason ?? null))
      ctl.output().say(suspension, () => fieldsOf(suspension))
    })

  inbox
    .command('resume')
    .description('let a suspended inbox send again')
    .argument('<id>')
    .action(async (id: string) => {
      const { resumeInbox } = await import('../core/account/suspension.ts')
      const suspension = await ctl.withApp(app => resumeInbox(app, id))
      ctl.output().say(suspension, () => fieldsOf(suspension))
    })
}
