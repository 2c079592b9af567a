import type { Command } from 'commander'
import { categories } from '../base/ids.ts'
import { durationMs } from '../config/duration.ts'
import { countAllExpired, deleteExpired } from '../core/account/retention.ts'
import { operator } from '../core/app/caller.ts'
import { getInboxRow, getPodRow } from '../core/app/reach.ts'
import type { Category } from '../model/message.ts'
import { countOf } from './counted.ts'
import type { Ctl } from './ctl.ts'
import { duration } from './duration.ts'
import { CheckFailed } from './output.ts'
import { commandOf } from './words.ts'

interface Options {
  readonly olderThan: string
  readonly inbox?: string
  readonly pod?: string
  readonly category?: Category
  readonly yes?: boolean
}

/** What of messages is the operator's alone; the rest are operations. */
export function addMessageCommands(program: Command, ctl: Ctl): void {
  const purge = commandOf(program, 'message').command('purge')
  purge
    .description(
      'delete old messages for good, as retention.rule of the configuration does every hour; what is on its way out is kept',
    )
    .requiredOption(
      '--older-than <time>',
      'what came or was sent before so long, such as 12h or 90d',
      duration,
    )
    .option('--inbox <id>', 'of this inbox, by id or address')
    .option('--pod <id>', 'of this pod, by id or clientId')
    .addOption(purge.createOption('--category <category>', 'of this category').choices(categories))
    .option('--yes', 'do it; else it is only counted what the options mean')
    .action(async ({ olderThan, inbox, pod, category, yes = false }: Options) => {
      const done = await ctl.withApp(async app => {
        const db = app.store.read
        const rule = {
          keepMs: durationMs(olderThan),
          ...(inbox !== undefined && { inbox: (await getInboxRow(db, operator, inbox)).address }),
          ...(pod !== undefined && { pod: (await getPodRow(db, operator, pod)).id }),
          ...(category !== undefined && { category }),
        }
        return yes
          ? { matched: null, deleted: await deleteExpired(app, [rule]) }
          : { matched: await countAllExpired(app, [rule]), deleted: null }
      })
      const text =
        done.deleted === null
          ? `nothing was done: ${countOf(done.matched ?? 0, 'message is', 'messages are')} meant; say --yes to delete for good`
          : `deleted ${countOf(done.deleted, 'message')}`
      ctl.output().say(done, () => text)
      if (done.deleted === null && (done.matched ?? 0) > 0) throw new CheckFailed()
    })
}
