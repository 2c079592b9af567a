import { invalidRequest } from '../base/problem.ts'
import { readInstant } from '../base/time.ts'
import type { App } from '../core/app/app.ts'
import type { Caller } from '../core/app/caller.ts'
import { getInboxRow, getPodRow } from '../core/app/reach.ts'
import { explainDeliveries } from '../core/mailbox/deliveries.ts'
import { listHolds } from '../core/outbound/hold.ts'
import {
  countQueue,
  type Hand,
  handle,
  listQueue,
  type QueueFilter,
  readDomain,
} from '../core/outbound/operators-hand.ts'
import {
  ExplainedDelivery,
  QueueChange,
  QueuedDelivery,
  QueueHold,
  QueueSelection,
  queueQuery,
} from '../model/queue.ts'
import { listOf, pageOf, shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const path = '/v1/queue'
const tag = 'Queue'

type Selected = Omit<QueueSelection, 'ids' | 'confirm'>

/** @throws Problem `not_found` for an inbox or a pod that is not there, `invalid_request` for what is no domain */
async function filterOf(
  app: App,
  caller: Caller,
  { domain, inboxId, podId, before, state }: Selected,
  where: string,
): Promise<QueueFilter> {
  const db = app.store.read
  const named = domain === undefined ? undefined : readDomain(domain)
  if (domain !== undefined && named === undefined) throw invalidRequest(`${where}/domain`, 'must be a domain')
  // A plus sign in a query is a space.
  const since = before === undefined ? undefined : readInstant(before.replace(' ', '+'))
  if (before !== undefined && since === undefined)
    throw invalidRequest(`${where}/before`, 'must be an instant')
  return {
    ...(named !== undefined && { domain: named }),
    ...(inboxId !== undefined && { inboxId: (await getInboxRow(db, caller, inboxId)).id }),
    ...(podId !== undefined && { podId: (await getPodRow(db, caller, podId)).id }),
    ...(since !== undefined && { before: since }),
    ...(state !== undefined && { state }),
  }
}

/** What can be done to all that a selection means. */
function handOperation(hand: Hand, summary: string, description: string): Operation {
  return operation({
    id: `${hand}Queued`,
    method: 'post',
    path: `${path}/${hand}`,
    tag,
    summary,
    description: `${description} Without ids it is done only with \`confirm\`; before that, \`matched\` says to how many it would be.`,
    access: 'account',
    body: QueueSelection,
    success: { status: 200, schema: QueueChange },
    problems: ['not_found'],
    async handle({ app, caller, body: { ids, confirm = false, ...selected } }) {
      const filter = { ...(await filterOf(app, caller, selected, 'body')), ...(ids && { ids }) }
      if (hand !== 'retry' && Object.keys(filter).length === 0)
        throw invalidRequest('', 'Give ids, or say which deliveries are meant')
      const matched = await countQueue(app, filter)
      return { matched, changed: ids || confirm ? await handle(app, hand, filter) : null }
    },
  })
}

export const queueOperations: readonly Operation[] = [
  operation({
    id: 'listQueue',
    method: 'get',
    path,
    tag,
    summary: 'List the deliveries that have not come to their end, the next due first.',
    description: 'For the operator: what waits, since when and with what answer.',
    access: 'account',
    query: shape({ ...pageQuery, ...queueQuery }),
    success: { status: 200, schema: pageOf(QueuedDelivery) },
    problems: ['not_found'],
    async handle({ app, caller, query }) {
      const filter = await filterOf(app, caller, query, 'query')
      const { limit, offset } = pageOfQuery(query)
      return listAnswer({
        rows: await listQueue(app, limit, filter, offset),
        total: await countQueue(app, filter),
      })
    },
  }),
  operation({
    id: 'explainQueued',
    method: 'get',
    path: `${path}/{id}`,
    tag,
    summary:
      'Say of a delivery, or of each one of a message, what happens to it and when next, with every attempt.',
    description: '`outlook` says it in one sentence. The id is that of the delivery or of the message.',
    access: 'account',
    success: { status: 200, schema: listOf(ExplainedDelivery) },
    problems: ['not_found'],
    handle: async ({ app, params }) => ({
      data: await explainDeliveries(app, params.id!.toLowerCase(), { withAttempts: true }),
    }),
  }),
  handOperation(
    'retry',
    'Make what waits due now; with an empty selection, all of it.',
    'A destination that fails is tried once, and all else if that goes well.',
  ),
  handOperation(
    'hold',
    'Keep what is queued from being sent, until it is released.',
    'Where only an inbox, a pod or a domain is named, what comes new is held, too.',
  ),
  handOperation(
    'release',
    'Go on with what was held, in the order in which it was sent.',
    'What an inbox, a pod or a domain is held by is released by naming the same.',
  ),
  handOperation(
    'cancel',
    'Send it no more.',
    'The senders are told that it failed (`message.failed`), and who submitted it by SMTP gets no notification by mail. It can not be undone.',
  ),
  operation({
    id: 'listQueueHolds',
    method: 'get',
    path: '/v1/queue-holds',
    tag,
    summary: 'List what is held with all that comes new, oldest first.',
    description: 'A hold stands until what it names is released.',
    access: 'account',
    success: { status: 200, schema: listOf(QueueHold) },
    problems: [],
    handle: async ({ app }) => ({ data: await listHolds(app) }),
  }),
]
