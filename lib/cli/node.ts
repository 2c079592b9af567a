import type { Command } from 'commander'
import type { Rows } from '../core/app/app.ts'
import { drainNode, findNodes } from '../core/nodes/list.ts'
import { readRunning } from '../core/running.ts'
import type { Ctl } from './ctl.ts'
import { tableOf } from './output.ts'
import { commandOf } from './words.ts'

export function addNodeCommands(program: Command, ctl: Ctl): void {
  const node = commandOf(program, 'node')

  node
    .command('list')
    .description('list the nodes, and whether each works')
    .action(async () => {
      const data = await ctl.withRows(async (rows: Rows) => {
        const { isUp } = await readRunning(rows.config.data_dir)
        return findNodes(rows, { isAlone: rows.store.dialect === 'sqlite', isUp })
      })
      const columns = ['id', 'name', 'state', 'version', 'leasedUntil']
      ctl
        .output()
        .say({ data }, () => (data.length > 0 ? tableOf(data, columns) : 'no mailboxd has run here'))
    })

  for (const [name, isDraining, description, said] of [
    [
      'drain',
      true,
      'have a node take nothing more from the queue, and answer /health with 503: when its balancer has left it alone and what it had has ended, it can be stopped; one that is started again is up by itself',
      'drains: it takes nothing more from the queue, and /health is 503',
    ],
    ['resume', false, 'have a node that drains go on', 'goes on'],
  ] as const) {
    node
      .command(name)
      .description(description)
      .argument('<id>', 'as `node list` shows it')
      .action(async (id: string) => {
        await ctl.withRows(rows => drainNode(rows, id, isDraining))
        ctl.output().say({ id, isDraining }, () => `the node ${id} ${said} within two seconds`)
      })
  }
}
