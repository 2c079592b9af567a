import { type Command, InvalidArgumentError } from 'commander'
import { readInstant } from '../base/instant.ts'
import { limits } from '../base/limits.ts'
import { operator } from '../core/app/caller.ts'
import { listEvents } from '../core/events/list.ts'
import { listEventDeliveries, redeliverEvent, redeliverFailed } from '../core/webhooks/log.ts'
import type { Ctl } from './ctl.ts'
import { fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'

export function addEventCommands(program: Command, ctl: Ctl): void {
  const event = program.command('event').description('what happened, and how webhooks were told of it')

  event
    .command('list')
    .description('list what happened, oldest first')
    .option('--inbox <id>', 'in this inbox only, by id or address')
    .option('--type <type>', 'of this type only, such as message.received')
    .option('--after <id>', 'what came after the event with this id')
    .option('--limit <n>', 'how many', wholeNumber, limits.pageSize)
    .action(
      async ({
        inbox,
        limit,
        ...asked
      }: {
        inbox?: string
        type?: string
        after?: string
        limit: number
      }) => {
        const of = inbox === undefined ? {} : { inboxId: inbox }
        const rows = await ctl.withApp(app => listEvents(app, operator, { ...asked, ...of }, limit))
        const columns = ['event_id', 'event', 'inbox_address', 'message_id', 'occurred_at']
        const shown = () => rows.map(row => ({ ...row, message_id: row.message?.id ?? null }))
        ctl.output().say({ data: rows }, () => tableOf(shown(), columns))
      },
    )

  event
    .command('deliveries')
    .description('show how an event was told, with every call')
    .argument('<id>')
    .action(async (id: string) => {
      const rows = await ctl.withApp(app => listEventDeliveries(app, operator, id))
      const text = rows.map(({ log, ...fields }) => {
        const columns = ['createdAt', 'status', 'durationMs', 'error', 'answer']
        return log.length === 0 ? fieldsOf(fields) : `${fieldsOf(fields)}\n\n${tableOf(log, columns)}`
      })
      ctl.output().say({ data: rows }, () => text.join('\n\n') || 'there was no webhook to tell')
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
