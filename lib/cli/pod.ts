import type { Command } from 'commander'
import { changePod, createPod, deletePod, getPod, listPods } from '../core/account/pods.ts'
import { operator } from '../core/app/caller.ts'
import type { PodChange, PodCreation } from '../model/pod.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

export function addPodCommands(program: Command, ctl: Ctl): void {
  const pod = program.command('pod').description('tenants; every command takes a pod by its id or clientId')

  pod
    .command('create')
    .description('make a pod')
    .option('--name <text>', 'a label')
    .option('--client-id <text>', 'an identifier of your own')
    .action(async (options: PodCreation) => {
      const made = await ctl.withApp(app => createPod(app, options))
      ctl.output().say(made, () => fieldsOf(made))
    })

  pod
    .command('list')
    .description('list the pods, the default pod first')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (options: { limit: number; offset: number }) => {
      const { rows, total } = await ctl.withApp(app => listPods(app, operator, options))
      const columns = ['id', 'clientId', 'name', 'isDefault', 'createdAt']
      ctl.output().say({ data: rows, total }, () => tableOf(rows, columns))
    })

  pod
    .command('get')
    .description('show a pod')
    .argument('<id>')
    .action(async (id: string) => {
      const found = await ctl.withApp(app => getPod(app, operator, id))
      ctl.output().say(found, () => fieldsOf(found))
    })

  pod
    .command('update')
    .description('change the label or the clientId; an empty text clears')
    .argument('<id>')
    .option('--name <text>', 'a label')
    .option('--client-id <text>', 'an identifier of your own')
    .action(async (id: string, options: PodChange) => {
      const change = Object.fromEntries(Object.entries(options).map(([name, text]) => [name, text || null]))
      const changed = await ctl.withApp(app => changePod(app, operator, id, change))
      ctl.output().say(changed, () => fieldsOf(changed))
    })

  pod
    .command('delete')
    .description('delete a pod that has no inboxes and no domains')
    .argument('<id>')
    .action(async (id: string) => {
      await ctl.withApp(app => deletePod(app, operator, id))
      ctl.output().say({ deleted: id }, () => `deleted ${id}`)
    })
}
