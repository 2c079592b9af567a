import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import {
  getMessage,
  listInboxMessages,
  listMessageDeliveries,
  openMessageAttachment,
  openRaw,
} from '../core/messages.ts'
import { send } from '../core/send.ts'
import { Delivery, Direction, Message } from '../model/message.ts'
import { SendRequest, SendResult } from '../model/send.ts'
import { pageOf, shape } from '../model/shape.ts'
import { type Download, type Operation, openOperation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

/** base64 of the largest attachments, and the text and HTML beside them. */
const sendBytes = Math.ceil((limits.attachmentsBytes * 4) / 3) + 4 * 1024 * 1024

export const messageOperations: readonly Operation[] = [
  operation({
    id: 'sendMessage',
    method: 'post',
    path: '/v1/inboxes/{id}/send',
    tag: 'Messages',
    summary:
      'Send a message, or a reply when threadId is set. When this answers, the message is safely queued.',
    access: 'inbox',
    headers: {
      'Idempotency-Key': {
        description:
          'Any text that names this one send; a repeat within 24 hours gets the same answer and sends nothing.',
        required: true,
      },
    },
    body: SendRequest,
    bodyBytes: sendBytes,
    success: { status: 200, schema: SendResult },
    problems: [
      'missing_idempotency_key',
      'idempotency_key_conflict',
      'recipient_is_sender',
      'attachments_too_large',
    ],
    handle: ({ app, caller, params, body, header }) =>
      send(
        app,
        caller,
        params.id!,
        body,
        idempotencyKey(header('idempotency-key'), app.config.idempotency.required),
      ),
  }),
  operation({
    id: 'listInboxMessages',
    method: 'get',
    path: '/v1/inboxes/{id}/messages',
    tag: 'Messages',
    summary: "List an inbox's messages, newest first.",
    access: 'inbox',
    query: shape({ ...pageQuery, direction: Type.Optional(Direction) }),
    success: { status: 200, schema: pageOf(Message) },
    problems: [],
    handle: async ({ app, caller, params, query }) =>
      listAnswer(
        await listInboxMessages(app, caller, params.id!, { direction: query.direction }, pageOfQuery(query)),
      ),
  }),
  operation({
    id: 'getMessage',
    method: 'get',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary: 'Show a message.',
    access: 'inbox',
    success: { status: 200, schema: Message },
    problems: [],
    handle: ({ app, caller, params }) => getMessage(app, caller, params.id!),
  }),
  operation({
    id: 'getRawMessage',
    method: 'get',
    path: '/v1/messages/{id}/raw',
    tag: 'Messages',
    summary: 'The original message, byte for byte as it crossed the wire.',
    access: 'inbox',
    success: { status: 200, download: 'message/rfc822' },
    problems: [],
    handle: async ({ app, caller, params }): Promise<Download> => ({
      contentType: 'message/rfc822',
      filename: `${params.id}.eml`,
      ...(await openRaw(app, caller, params.id!)),
    }),
  }),
  operation({
    id: 'listMessageDeliveries',
    method: 'get',
    path: '/v1/messages/{id}/deliveries',
    tag: 'Messages',
    summary: 'What became of an outbound message: one delivery for each recipient.',
    access: 'inbox',
    success: { status: 200, schema: shape({ data: Type.Array(Delivery) }) },
    problems: [],
    handle: async ({ app, caller, params }) => ({
      data: await listMessageDeliveries(app, caller, params.id!),
    }),
  }),
  openOperation({
    id: 'downloadAttachment',
    method: 'get',
    path: '/v1/attachments/{messageId}/{index}/{filename}',
    tag: 'Messages',
    summary:
      "An attachment's bytes, by a signed URL of the last hour or with a key that reaches the message.",
    access: 'anyone',
    query: shape({ expires: Type.Optional(Type.String()), signature: Type.Optional(Type.String()) }),
    success: { status: 200, download: '*/*' },
    problems: ['unauthorized'],
    handle: async ({ app, caller, params, query }): Promise<Download> => {
      const attachment = await openMessageAttachment(app, caller, {
        messageId: params.messageId!,
        index: /^\d{1,4}$/.test(params.index!) ? Number(params.index) : -1,
        expires: query.expires,
        signature: query.signature,
      })
      // The size in the row is the decoded one; the stream is what is sent, so the length is left to it.
      return { ...attachment, sizeBytes: undefined }
    },
  }),
]

function idempotencyKey(given: string | undefined, isRequired: boolean): string | undefined {
  if (given === undefined || given === '') {
    if (isRequired) throw new Problem('missing_idempotency_key')
    return undefined
  }
  if (given.length > limits.idempotencyKeyLength) {
    throw new Problem(
      'invalid_request',
      `Idempotency-Key has at most ${limits.idempotencyKeyLength} characters.`,
    )
  }
  return given
}
