import type { App } from '../core/app/app.ts'
import { forwardMessage, replyToMessage, send } from '../core/outbound/send.ts'
import { partFaults, sendFaults } from '../core/outbound/send-faults.ts'
import { ForwardRequest, ReplyAllRequest, ReplyRequest, SendRequest, SendResult } from '../model/send.ts'
import { type Operation, operation } from './operation.ts'
import { idempotencyKey, sendBytes, sendFormBytes, sendHeaders, sendProblems } from './sending.ts'

/** What all that send have in common. */
const sendingOperation = {
  access: 'inbox',
  headers: sendHeaders,
  bodyBytes: sendBytes,
  formBytes: sendFormBytes,
  success: { status: 200, schema: SendResult },
} as const

function keyOf(app: App, header: (name: string) => string | undefined): string | undefined {
  return idempotencyKey(header('idempotency-key'), app.config.idempotency.required)
}

export const messageSendOperations: readonly Operation[] = [
  operation({
    id: 'sendMessage',
    method: 'post',
    path: '/v1/inboxes/{id}/send',
    tag: 'Messages',
    summary:
      'Send a message, or a reply when threadId is set. When this answers, the message is safely queued.',
    description:
      "The answer does not wait for the recipients' servers: `status` is `pending` until each of them took or refused the message; `GET /v1/messages/{id}/deliveries` and the events tell how it went. Repeat a request that got no answer with the same `Idempotency-Key`: it is sent once. With `threadId` it is a reply: subject, quote and the headers that make it one are added.",
    ...sendingOperation,
    body: SendRequest,
    faults: sendFaults,
    problems: sendProblems,
    handle: ({ app, caller, params, body, header }) =>
      send(app, caller, params.id!, body, keyOf(app, header)),
  }),
  operation({
    id: 'replyToMessage',
    method: 'post',
    path: '/v1/messages/{id}/reply',
    tag: 'Messages',
    summary: 'Answer a message, in its thread.',
    description:
      'Without `to` it goes to the Reply-To of the message, else its From; where the inbox was only copied (`deliveryRole` `cc`), to whom it was written, with a copy to who wrote it. After a message of the inbox itself it goes to its recipients. All else is as in a send with `threadId`.',
    ...sendingOperation,
    body: ReplyRequest,
    faults: partFaults,
    problems: [...sendProblems, 'not_found'],
    handle: ({ app, caller, params, body, header }) =>
      replyToMessage(app, caller, params.id!, body, keyOf(app, header)),
  }),
  operation({
    id: 'replyAllToMessage',
    method: 'post',
    path: '/v1/messages/{id}/reply-all',
    tag: 'Messages',
    summary: 'Answer a message, with a copy to everybody else.',
    description:
      'As `/reply`, and everybody else of To and Cc of the message gets a copy; never the inbox itself, and each once. A message goes to at most 100 recipients: of a larger crowd say in `to`, `cc` and `bcc` of `/reply` who is to get it.',
    ...sendingOperation,
    body: ReplyAllRequest,
    faults: partFaults,
    problems: [...sendProblems, 'not_found'],
    handle: ({ app, caller, params, body, header }) =>
      replyToMessage(app, caller, params.id!, { ...body, replyAll: true }, keyOf(app, header)),
  }),
  operation({
    id: 'forwardMessage',
    method: 'post',
    path: '/v1/messages/{id}/forward',
    tag: 'Messages',
    summary: 'Pass a message on.',
    description:
      'It begins a thread of its own, for whom it goes to is no part of the conversation that it comes from. Its text stands below the body, with its attachments; with `asAttachment` the message itself is attached, byte for byte. The subject is that of the message with `Fwd:` unless one is given. What a scanner found a virus in is passed on only with `includeMalicious`.',
    ...sendingOperation,
    body: ForwardRequest,
    faults: partFaults,
    problems: [...sendProblems, 'not_found', 'malicious_message'],
    handle: ({ app, caller, params, body, header }) =>
      forwardMessage(app, caller, params.id!, body, keyOf(app, header)),
  }),
]
