import { domainToASCII } from 'node:url'
import type { Command } from 'commander'
import { isoAfter } from '../base/time.ts'
import { durationMs } from '../config/duration.ts'
import type { Rows } from '../core/app/app.ts'
import { operator } from '../core/app/caller.ts'
import { getInboxRow, getPodRow } from '../core/app/reach.ts'
import { explainDeliveries } from '../core/mailbox/deliveries.ts'
import { listHolds } from '../core/outbound/hold.ts'
import {
  countQueue,
  type Hand,
  handle,
  listQueue,
  type QueueFilter,
  type QueueState,
  queueStates,
} from '../core/outbound/operators-hand.ts'
import { readRunning } from '../core/running.ts'
import { countOf } from './counted.ts'
import type { Ctl } from './ctl.ts'
import { duration } from './duration.ts'
import { CheckFailed, fieldsOf, tableOf } from './output.ts'
import { wholeNumber } from './whole-number.ts'
import { commandOf } from './words.ts'

/** Which deliveries a command means, as options say it. */
interface Options {
  readonly domain?: string
  readonly inbox?: string
  readonly pod?: string
  readonly olderThan?: string
  readonly state?: QueueState
}

export function addQueueCommands(program: Command, ctl: Ctl): void {
  const queue = commandOf(program, 'queue')

  filtered(queue.command('list'))
    .description(
      'list the deliveries that have not come to an end, the next due first, and how many there are',
    )
    .option('--limit <n>', 'how many', wholeNumber, 100)
    .action(async ({ limit, ...options }: Options & { limit: number }) => {
      const { lines, total } = await ctl.withRows(async rows => {
        const filter = await filterOf(rows, options)
        return { lines: await listQueue(rows, limit, filter), total: await countQueue(rows, filter) }
      })
      const columns = ['deliveryId', 'recipient', 'state', 'attempts', 'nextAttemptAt', 'lastReply']
      const text = () => `${tableOf(lines, columns)}\n\n${lines.length} of ${total}`
      ctl.output().say({ data: lines, total }, () => (lines.length > 0 ? text() : 'nothing of it is queued'))
    })
  for (const [name, description] of [
    ['why', 'say of a delivery, or of each one of a message, what happens to it and when next'],
    ['show', 'show a delivery, or each one of a message, with every attempt'],
  ] as const) {
    queue
      .command(name)
      .description(description)
      .argument('<id>', 'of the delivery or the message')
      .action(async (id: string) => {
        const lines = await ctl.withRows(rows =>
          explainDeliveries(rows, id, { withAttempts: name === 'show' }),
        )
        const text = () =>
          lines.map(({ log, ...line }) => {
            const told = `${line.recipient}: ${line.outlook}\n${fieldsOf(line)}`
            const columns = [
              'createdAt',
              'result',
              'replyCode',
              'replyText',
              'remoteHost',
              'tls',
              'durationMs',
            ]
            return log.length === 0 ? told : `${told}\n\n${tableOf(log, columns)}`
          })
        ctl.output().say({ data: lines }, () => text().join('\n\n'))
      })
  }

  addHand(
    'retry',
    'make what waits due now, but not what is held (queue release); a destination that fails is tried once, and all else if that goes well',
  )
  addHand('hold', 'keep what is queued from being sent, until it is released')
  queue
    .command('holds')
    .description('list what is held with all that comes new, by inbox, pod or domain, oldest first')
    .action(async () => {
      const holds = await ctl.withRows(listHolds)
      const rows = holds.map(({ domain, inboxId, podId, createdAt }) => ({
        createdAt,
        held: [domain && `domain ${domain}`, inboxId && `inbox ${inboxId}`, podId && `pod ${podId}`]
          .filter(Boolean)
          .join(', '),
      }))
      const text = () => tableOf(rows, ['createdAt', 'held'])
      ctl.output().say({ data: holds }, () => (holds.length > 0 ? text() : 'nothing is held'))
    })
  addHand('release', 'go on with what was held, in the order in which it was sent')
  addHand('cancel', 'send it no more; the senders are told that it failed, by message.failed and not by mail')

  filtered(queue.command('flush'))
    .description('make all that waits due now, or of it what the options say')
    .action(async (options: Options) => {
      const { changed, matched, held, isUp } = await ctl.withApp(async app => {
        const filter = await filterOf(app, options)
        return {
          changed: await handle(app, 'retry', filter),
          matched: await countQueue(app, filter),
          held: await countHeld(app, filter),
          isUp: (await readRunning(app.config.data_dir)).isUp,
        }
      })
      const note = 'nothing is sent until mailboxd runs, and it does not run now'
      const due = countOf(changed, 'delivery is', 'deliveries are')
      const why = changed === 0 ? `: ${whyNoneDue(matched, held)}` : ''
      const text = () => `${due} due now${why}${isUp ? '' : `; ${note}`}`
      ctl.output().say({ changed, ...(changed === 0 && { matched, held }), ...(!isUp && { note }) }, text)
    })

  function addHand(hand: Hand, description: string): void {
    const command = filtered(queue.command(hand))
      .description(description)
      .argument('[id...]', 'of deliveries or messages; without, what the options say')
      .option('--yes', 'do it; else it is only counted what the options mean')
    command.action(async (ids: string[], { yes, ...options }: Options & { yes?: boolean }) => {
      if (ids.length === 0 && Object.keys(options).length === 0) {
        command.error('error: name deliveries or messages, or say by options which are meant', {
          exitCode: 2,
        })
      }
      let standing = 0
      const done = await ctl.withApp(async app => {
        const filter = { ...(await filterOf(app, options)), ...(ids.length > 0 && { ids }) }
        const matched = await countQueue(app, filter)
        const isSure = yes === true || ids.length > 0
        const before = await listHolds(app)
        const changed = isSure ? await handle(app, hand, filter) : null
        standing = (await listHolds(app)).length - before.length
        const held = hand === 'retry' && isSure ? await countHeld(app, filter) : 0
        return { matched, changed, ...(held > 0 && { held }) }
      })
      // What comes new is held, or no more, also where nothing waits now.
      const more =
        standing > 0
          ? ', and all that comes new (mailboxctl queue holds)'
          : standing < 0
            ? ', and what comes new is held no more'
            : ''
      const held =
        done.held === undefined
          ? ''
          : `; ${countOf(done.held, 'is', 'are')} held: mailboxctl queue release${ids.map(id => ` ${id}`).join('')}`
      const text = () =>
        done.changed === null
          ? `nothing was done: ${countOf(done.matched, 'delivery is', 'deliveries are')} meant; say --yes to ${hand} what is`
          : `${hand}: ${done.changed} of ${countOf(done.matched, 'delivery', 'deliveries')}${more}${held}`
      ctl.output().say(done, text)
      if (done.held !== undefined && (ids.length > 0 || done.changed === 0)) throw new CheckFailed()
      // A script that forgot --yes must not go on as if it were done.
      if (done.changed === null && done.matched > 0) throw new CheckFailed()
    })
  }
}

function countHeld(app: Rows, filter: QueueFilter): Promise<number> {
  return filter.state === undefined || filter.state === 'held'
    ? countQueue(app, { ...filter, state: 'held' })
    : Promise.resolve(0)
}

function whyNoneDue(matched: number, held: number): string {
  if (matched === 0) return 'no queued delivery matches'
  const reasons = [
    ...(held > 0 ? [`${countOf(held, 'is', 'are')} held (mailboxctl queue release)`] : []),
    ...(matched > held ? [`${countOf(matched - held, 'is', 'are')} being sent`] : []),
  ]
  return reasons.join(', ')
}

function filtered(command: Command): Command {
  return command
    .option('--domain <domain>', 'to recipients in this domain')
    .option('--inbox <id>', 'of this inbox, by id or address')
    .option('--pod <id>', 'of this pod, by id or clientId')
    .option('--older-than <time>', 'put before so long, such as 2h or 3d', duration)
    .addOption(command.createOption('--state <state>', 'in this state').choices(queueStates))
}

/** @throws Problem `not_found` for an inbox or a pod that is not there */
async function filterOf(app: Rows, { domain, inbox, pod, olderThan, state }: Options): Promise<QueueFilter> {
  const db = app.store.read
  return {
    ...(domain !== undefined && { domain: domainToASCII(domain) || domain }),
    ...(inbox !== undefined && { inboxId: (await getInboxRow(db, operator, inbox)).id }),
    ...(pod !== undefined && { podId: (await getPodRow(db, operator, pod)).id }),
    ...(olderThan !== undefined && { before: isoAfter(app.clock.now(), -durationMs(olderThan)) }),
    ...(state !== undefined && { state }),
  }
}
