import {
  changeDraft,
  createDraft,
  deleteDraft,
  draftFaults,
  getDraft,
  listDrafts,
} from '../core/drafts/drafts.ts'
import { sendDraft } from '../core/drafts/send.ts'
import { Draft, DraftChange, DraftCreation } from '../model/draft.ts'
import { SendResult } from '../model/send.ts'
import { pageOf, shape } from '../model/shape.ts'
import { largeAnswerBytes, lookup, type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'
import { idempotencyKey, sendBytes, sendFormBytes, sendHeaders, sendProblems } from './sending.ts'

const tag = 'Drafts'

export const draftOperations: readonly Operation[] = [
  operation({
    id: 'createDraft',
    method: 'post',
    path: '/v1/inboxes/{id}/drafts',
    tag,
    summary: 'Keep a message to be sent later: when it is asked for, or by itself at sendAt.',
    description:
      'A person can look at a draft first, or it goes out at `sendAt`. A reply without `to` fixes its recipients now and shows them. Whatever else a send would refuse is refused when the draft is sent.',
    access: 'inbox',
    body: DraftCreation,
    faults: draftFaults,
    bodyBytes: sendBytes,
    formBytes: sendFormBytes,
    success: { status: 201, schema: Draft },
    problems: ['attachments_too_large', 'draft_limit_reached', 'too_many_recipients', 'storage_full'],
    handle: ({ app, caller, params, body }) => createDraft(app, caller, params.id!, body),
  }),
  lookup({
    id: 'listDrafts',
    method: 'get',
    path: '/v1/inboxes/{id}/drafts',
    tag,
    summary: "List an inbox's drafts, newest first; those that were sent, too.",
    description: 'Those that wait (`open`), those that have a time (`scheduled`) and those that were sent.',
    access: 'inbox',
    query: shape(pageQuery),
    success: { status: 200, schema: pageOf(Draft) },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: async ({ app, caller, params, query }) =>
      listAnswer(await listDrafts(app, caller, params.id!, pageOfQuery(query))),
  }),
  lookup({
    id: 'getDraft',
    method: 'get',
    path: '/v1/drafts/{id}',
    tag,
    summary: 'Show a draft.',
    description: '`lastError` says why it could not be sent at its time, if that is so.',
    access: 'inbox',
    success: { status: 200, schema: Draft },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: ({ app, caller, params }) => getDraft(app, caller, params.id!),
  }),
  operation({
    id: 'updateDraft',
    method: 'patch',
    path: '/v1/drafts/{id}',
    tag,
    summary: 'Change what is given; null empties a field. A sendAt of null takes the draft off the schedule.',
    description: 'While it is not sent. Attachments that are given take the place of those that are there.',
    access: 'inbox',
    body: DraftChange,
    faults: draftFaults,
    bodyBytes: sendBytes,
    formBytes: sendFormBytes,
    success: { status: 200, schema: Draft },
    problems: ['attachments_too_large', 'draft_sent', 'too_many_recipients', 'storage_full'],
    handle: ({ app, caller, params, body }) => changeDraft(app, caller, params.id!, body),
  }),
  operation({
    id: 'deleteDraft',
    method: 'delete',
    path: '/v1/drafts/{id}',
    tag,
    summary: 'Delete a draft. What was sent of it stays.',
    description: 'One that is scheduled is not sent then.',
    access: 'inbox',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => deleteDraft(app, caller, params.id!),
  }),
  operation({
    id: 'sendDraft',
    method: 'post',
    path: '/v1/drafts/{id}/send',
    tag,
    summary: 'Send a draft now. When this answers, the message is safely queued and the draft is sent.',
    description:
      'The same rules and refusals as those of a send. A draft is sent once: with another `Idempotency-Key` it is refused as `draft_sent`. If its thread would now lead it to other recipients than it shows, it is refused as `recipients_changed` with both lists.',
    access: 'inbox',
    headers: sendHeaders,
    success: { status: 200, schema: SendResult },
    problems: [...sendProblems, 'draft_sent', 'invalid_request', 'recipients_changed'],
    handle: ({ app, caller, params, header }) =>
      sendDraft(
        app,
        caller,
        params.id!,
        idempotencyKey(header('idempotency-key'), app.config.idempotency.required),
      ),
  }),
]
