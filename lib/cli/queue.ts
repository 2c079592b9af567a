import type { Command } from 'commander'
import { listQueue } from '../core/app/status.ts'
import { explainDeliveries } from '../core/mailbox/deliveries.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

export function addQueueCommands(program: Command, ctl: Ctl): void {
  const queue = program.command('queue').description('mail on its way out')

  queue
    .command('list')
    .description('list the deliveries that have not come to an end, the next due first')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .action(async (options: { limit: number }) => {
      const lines = await ctl.withApp(app => listQueue(app, options.limit))
      const columns = [
        'deliveryId',
        'recipient',
        'state',
        'attempts',
        'cutOffs',
        'nextAttemptAt',
        'lastReply',
      ]
      ctl
        .output()
        .say({ data: lines }, () => (lines.length > 0 ? tableOf(lines, columns) : 'the queue is empty'))
    })
  queue
    .command('why')
    .description('say of a delivery, or of each one of a message, what happens to it and when next')
    .argument('<id>', 'of the delivery or the message')
    .action(async (id: string) => {
      const lines = await ctl.withApp(app => explainDeliveries(app, id))
      const text = () =>
        lines.map(line => `${line.recipient}: ${line.outlook}\n${fieldsOf(line)}`).join('\n\n')
      ctl.output().say({ data: lines }, text)
    })
}
