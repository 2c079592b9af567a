import type { Command } from 'commander'
import { printableLine } from '../base/text.ts'
import { type LogEntry, readMessageLog } from '../core/message-log.ts'
import type { Ctl } from './ctl.ts'
import { commandOf } from './words.ts'

export function addMessageLogCommand(program: Command, ctl: Ctl): void {
  commandOf(program, 'message')
    .command('log')
    .description('tell all that happened to a message, from the connection that brought it to its end')
    .argument('<id>')
    .action(async (id: string) => {
      const entries = await ctl.withApp(app => readMessageLog(app, id))
      ctl.output().say({ data: entries }, () => entries.map(lineOf).join('\n'))
    })
}

/** In one line, for replies of servers are long: to be read, and found by words. */
function lineOf({ at, what, who, said }: LogEntry): string {
  return printableLine([at, what, who, said].filter(part => part !== null && part !== '').join('  '))
}
