import type { Command } from 'commander'
import { listFeedback } from '../core/account/feedback.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'
import { commandOf } from './words.ts'

export function addFeedbackCommands(program: Command, ctl: Ctl): void {
  const feedback = commandOf(program, 'feedback')

  feedback
    .command('list')
    .description('list it, newest first')
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .option('--offset <n>', 'how many to skip', wholeNumber, 0)
    .action(async (page: { limit: number; offset: number }) => {
      const { rows, total } = await ctl.withApp(app => listFeedback(app, page))
      ctl
        .output()
        .say({ data: rows, total }, () => rows.map(row => fieldsOf(row)).join('\n\n') || 'there is none')
    })
}
