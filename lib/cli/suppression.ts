import type { Command } from 'commander'
import { printableLine } from '../base/text.ts'
import {
  addSuppression,
  listSuppressions,
  listSuppressionsOf,
  removeSuppression,
} from '../core/outbound/suppressions.ts'
import type { Suppression, SuppressionReason } from '../model/suppression.ts'
import { confirm } from './confirm.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'
import { commandOf } from './words.ts'
import { inWordsOfOptions } from './words-of-options.ts'

export function addSuppressionCommands(program: Command, ctl: Ctl): void {
  const suppression = commandOf(program, 'suppression')

  suppression
    .command('list')
    .description('list them, newest first')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (page: { limit: number; offset: number }) => {
      const { rows: listed, total } = await ctl.withRows(rows => listSuppressions(rows, undefined, page))
      const columns = ['recipient', 'podId', 'reason', 'expiresAt', 'evidence']
      ctl
        .output()
        .say({ data: listed, total }, () =>
          listed.length > 0 ? tableOf(listed, columns) : 'none is suppressed',
        )
    })

  suppression
    .command('add')
    .description('suppress an address')
    .argument('<address>')
    .addOption(
      suppression
        .createOption('--reason <word>', 'why')
        .choices(['bounce', 'complaint', 'unsubscribe', 'manual'])
        .default('manual'),
    )
    .option('--evidence <text>', 'a note')
    .option('--expires-at <instant>', 'when it ends, such as 2026-01-31T12:00:00Z (default: never)')
    .action(
      async (
        recipient: string,
        options: { reason: SuppressionReason; evidence?: string; expiresAt?: string },
      ) => {
        const made = await told(ctl.withApp(app => addSuppression(app, { recipient, ...options })))
        ctl.output().say(made, () => fieldsOf(made))
      },
    )

  suppression
    .command('remove')
    .description('let an address be written to again')
    .argument('<address>')
    .option('--yes', 'do not ask')
    .action(async (address: string, { yes }: { yes?: boolean }) => {
      if (yes !== true) {
        const found = await told(ctl.withRows(rows => listSuppressionsOf(rows, address)))
        await confirm(
          `${found.map(sentenceOf).join('\n')}\nIn all pods it is written to again; what bounces there harms the name of this server.`,
        )
      }
      await told(ctl.withApp(app => removeSuppression(app, address)))
      ctl.output().say({ removed: address }, () => `removed ${address}`)
    })
}

/** What is wrong with an address is said of the argument. */
function told<T>(work: Promise<T>): Promise<T> {
  return work.catch(error => {
    throw inWordsOfOptions(error, { recipient: 'address' })
  })
}

function sentenceOf({ recipient, podId, reason, evidence, createdAt }: Suppression): string {
  const since = `${recipient} is suppressed ${podId === null ? 'for all' : `for pod ${podId}`} since ${createdAt}: ${reason}`
  return printableLine(evidence === null ? `${since}.` : `${since}, ${evidence}.`)
}
