import Type from 'typebox'
import {
  addSuppression,
  listSuppressions,
  removeSuppression,
  suppressionFaults,
} from '../core/outbound/suppressions.ts'
import { pageOf, shape } from '../model/shape.ts'
import { Suppression, SuppressionCreation, SuppressionReason } from '../model/suppression.ts'
import { type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const path = '/v1/suppressions'
const tag = 'Suppressions'

export const suppressionOperations: readonly Operation[] = [
  operation({
    id: 'listSuppressions',
    method: 'get',
    path,
    tag,
    summary: 'List the addresses that are not written to any more, newest first.',
    description:
      "A send to one of these is refused as `recipient_suppressed`. They are added when mail bounces for good or is complained about: for all pods when a mail server refused the address itself, and for one pod (`podId`) when mail that came back to it says so, for such mail can be forged, or a mail server does once it has the message, for such words may be the message's.",
    access: 'account',
    query: shape({ ...pageQuery, reason: Type.Optional(SuppressionReason) }),
    success: { status: 200, schema: pageOf(Suppression) },
    problems: [],
    handle: async ({ app, query }) =>
      listAnswer(await listSuppressions(app, query.reason, pageOfQuery(query))),
  }),
  operation({
    id: 'createSuppression',
    method: 'post',
    path,
    tag,
    summary:
      'Suppress an address for all pods: no send to it is accepted. Takes the place of what was there for it.',
    description: 'For somebody who asked not to be written to.',
    access: 'account',
    body: SuppressionCreation,
    faults: suppressionFaults,
    success: { status: 201, schema: Suppression },
    problems: [],
    handle: ({ app, body }) => addSuppression(app, body),
  }),
  operation({
    id: 'deleteSuppression',
    method: 'delete',
    path,
    tag,
    summary: 'Let an address be written to again, by all pods.',
    description: 'When the address is known to work again. Mail to it that bounces puts it back.',
    access: 'account',
    query: shape({ recipient: Type.String({ description: 'The address that may be written to again.' }) }),
    success: { status: 204 },
    problems: ['not_found'],
    handle: ({ app, query }) => removeSuppression(app, query.recipient),
  }),
]
