import { type Command, InvalidArgumentError, Option } from 'commander'
import { printableLine } from '../base/text.ts'
import { readInstant } from '../base/time.ts'
import { operator } from '../core/app/caller.ts'
import { followEvents } from '../core/events/follow.ts'
import { redeliverEvent, redeliverFailed } from '../core/webhooks/log.ts'
import { eventNames } from '../model/event.ts'
import type { Ctl } from './ctl.ts'
import { writeJson, writeText } from './terminal.ts'
import { commandOf } from './words.ts'

export function addEventCommands(program: Command, ctl: Ctl): void {
  const event = commandOf(program, 'event')

  event
    .command('tail')
    .description('show what happens, as it happens, until it is interrupted; with --json one event a line')
    .option('--inbox <id>', 'in this inbox only, by id or address')
    .addOption(new Option('--type <type>', 'of this type only').choices(eventNames))
    .option('--after <id>', 'from the event after this one on (default: from now on)')
    .action(async ({ inbox, ...asked }: { inbox?: string; type?: string; after?: string }) => {
      const of = inbox === undefined ? {} : { inboxId: inbox }
      await ctl.withApp(async app => {
        for await (const one of followEvents(app, operator, { ...asked, ...of })) {
          const { occurred_at: at, event: name, inbox_address: address, message } = one
          const line = [at, name, address ?? '-', message?.id ?? '-', message?.subject ?? '']
            .join('  ')
            .trimEnd()
          if (ctl.isJson()) writeJson('stdout', one)
          else writeText('stdout', `${printableLine(line)}\n`)
        }
      })
    })

  event
    .command('redeliver')
    .description('tell an event again, or with --failed every event whose telling failed')
    .argument('[id]')
    .option('--failed', 'all whose last telling failed')
    .option(
      '--since <instant>',
      'with --failed: those that failed since, such as 2026-01-31T12:00:00Z',
      instant,
    )
    .action(async (id: string | undefined, { failed, since }: { failed?: boolean; since?: string }) => {
      if ((id === undefined) === (failed !== true)) {
        event.error('error: name an event or say --failed, one of them', { exitCode: 2 })
      }
      if (id !== undefined) {
        const done = await ctl.withApp(app => redeliverEvent(app, operator, id))
        ctl.output().say(done, () => `queued as ${done.deliveryId}`)
        return
      }
      const count = await redeliverAll(ctl, since ?? '')
      ctl.output().say({ queued: count }, () => `${count} events are queued again`)
    })
}

/** In as many writes as it takes, each of them short: the daemon writes, too. */
function redeliverAll(ctl: Ctl, since: string): Promise<number> {
  return ctl.withApp(async app => {
    let count = 0
    let some = await redeliverFailed(app, { after: '', since })
    while (some) {
      count += some.count
      some = await redeliverFailed(app, { after: some.last, since })
    }
    return count
  })
}

function instant(text: string): string {
  const at = readInstant(text)
  if (at === undefined) throw new InvalidArgumentError('It must be an instant such as 2026-01-31T12:00:00Z.')
  return at
}
