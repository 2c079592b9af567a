import type { Command } from 'commander'
import { createInbox, deleteInbox, getInbox, listInboxes } from '../core/account/inboxes.ts'
import { resumeInbox, suspendInbox } from '../core/account/suspension.ts'
import { operator } from '../core/app/caller.ts'
import type { InboxCreation } from '../model/inbox.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

interface InboxListOptions {
  readonly pod?: string
  readonly address?: string
  readonly system?: boolean
  readonly limit: number
  readonly offset: number
}

export function addInboxCommands(program: Command, ctl: Ctl): void {
  const inbox = program.command('inbox').description('inboxes; every command takes one by its id or address')

  inbox
    .command('create')
    .description('make an inbox')
    .option('--mailbox-name <name>', 'the part before the @ (default: random)')
    .option('--domain <domain>', "the domain (default: the account's)")
    .option('--display-name <text>', 'the name in From')
    .option('--pod <id>', 'the pod, by id or clientId (default: the default pod)')
    .option(
      '--client-id <text>',
      'your own name for it: the same command again shows the inbox that is there',
    )
    .action(async ({ pod: podId, ...request }: Omit<InboxCreation, 'podId'> & { pod?: string }) => {
      const made = await ctl.withApp(app =>
        createInbox(app, operator, { ...request, ...(podId !== undefined && { podId }) }),
      )
      ctl.output().say(made, () => fieldsOf(made))
    })

  inbox
    .command('list')
    .description('list the inboxes, newest first')
    .option('--pod <id>', 'of this pod only')
    .option('--address <address>', 'the one with this address')
    .option('--system', 'with the inbox of postmaster and abuse')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (options: InboxListOptions) => {
      const { pod, address, system: withSystem, ...page } = options
      const { rows, total } = await ctl.withApp(app =>
        listInboxes(app, operator, { pod, address, withSystem }, page),
      )
      const columns = ['id', 'address', 'displayName', 'podId', 'createdAt']
      ctl.output().say({ data: rows, total }, () => tableOf(rows, columns))
    })

  inbox
    .command('get')
    .description('show an inbox')
    .argument('<id>')
    .action(async (id: string) => {
      const found = await ctl.withApp(app => getInbox(app, operator, id))
      ctl.output().say(found, () => fieldsOf(found))
    })

  inbox
    .command('suspend')
    .description('keep an inbox from sending, its drafts too; it receives all the same')
    .argument('<id>')
    .option('--reason <text>', 'why, for the events')
    .action(async (id: string, { reason }: { reason?: string }) => {
      const suspension = await ctl.withApp(app => suspendInbox(app, id, reason ?? null))
      ctl.output().say(suspension, () => fieldsOf(suspension))
    })

  inbox
    .command('resume')
    .description('let a suspended inbox send again')
    .argument('<id>')
    .action(async (id: string) => {
      const suspension = await ctl.withApp(app => resumeInbox(app, id))
      ctl.output().say(suspension, () => fieldsOf(suspension))
    })

  inbox
    .command('delete')
    .description('delete an inbox for good; its address is never given out again')
    .argument('<id>')
    .action(async (id: string) => {
      await ctl.withApp(app => deleteInbox(app, operator, id))
      ctl.output().say({ deleted: id }, () => `deleted ${id}`)
    })
}
