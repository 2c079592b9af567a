import type { Command } from 'commander'
import { addMember, listMembers, removeMember } from '../core/account/members.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

export function addMemberCommands(program: Command, ctl: Ctl): void {
  const member = program
    .command('member')
    .description('addresses of the organisation, to which mail can be forwarded without asking them')

  member
    .command('list')
    .description('list them')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (page: { limit: number; offset: number }) => {
      const { rows, total } = await ctl.withApp(app => listMembers(app, page))
      const columns = ['address', 'name', 'createdAt']
      ctl
        .output()
        .say({ data: rows, total }, () => (rows.length > 0 ? tableOf(rows, columns) : 'there is none'))
    })

  member
    .command('add')
    .description('make an address a member')
    .argument('<address>')
    .option('--name <text>', 'who it is')
    .action(async (address: string, options: { name?: string }) => {
      const made = await ctl.withApp(app => addMember(app, { address, ...options }))
      ctl.output().say(made, () => fieldsOf(made))
    })

  member
    .command('remove')
    .description('make an address a member no more; what is forwarded to it already goes on')
    .argument('<address>')
    .action(async (address: string) => {
      await ctl.withApp(app => removeMember(app, address))
      ctl.output().say({ removed: address }, () => `removed ${address}`)
    })
}
