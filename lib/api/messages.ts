import Type from 'typebox'
import { listMessageDeliveries } from '../core/mailbox/deliveries.ts'
import { getMessage, listInboxMessages, listMessages } from '../core/mailbox/messages.ts'
import { openRaw } from '../core/mailbox/raws.ts'
import { waitForMessages } from '../core/mailbox/wait.ts'
import { Delivery, Direction, Message } from '../model/message.ts'
import { pageSizeMax } from '../model/page.ts'
import { listOf, pageOf, shape } from '../model/shape.ts'
import { type Download, largeAnswerBytes, lookup, type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'
import { filterOfQuery, searchLength, searchQuery } from './search.ts'

/** How long a request waits for mail: unless it says, and at the most. */
const waitSeconds = 30
const waitSecondsMax = 300

const messagesQuery = shape({ ...pageQuery, direction: Type.Optional(Direction), ...searchQuery })

export const messageOperations: readonly Operation[] = [
  lookup({
    id: 'listInboxMessages',
    method: 'get',
    path: '/v1/inboxes/{id}/messages',
    tag: 'Messages',
    summary: "List an inbox's messages, or search them, newest first.",
    description:
      'To see what came in, ask for `direction=inbound`. Long texts are cut in lists (`bodyTruncated`); the message itself has all.',
    access: 'inbox',
    query: messagesQuery,
    success: { status: 200, schema: pageOf(Message) },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: async ({ app, caller, params, query }) =>
      listAnswer(
        await listInboxMessages(
          app,
          caller,
          params.id!,
          { ...filterOfQuery(query), direction: query.direction },
          pageOfQuery(query),
        ),
      ),
  }),
  operation({
    id: 'waitForMessages',
    method: 'get',
    path: '/v1/inboxes/{id}/messages/wait',
    tag: 'Messages',
    summary:
      'Wait for mail: answers as soon as an inbound message comes that these say, and with an empty list when the time is over.',
    description:
      'For an agent that expects an answer or a code and has no webhook. Spam is passed over. Ask with `after` set to when the mail was caused, so that what came in between is not missed; ask again when the list is empty. Who goes on asks with `after` set to the `createdAt` of the first message of the answer, and misses none.',
    access: 'inbox',
    query: shape({
      timeout: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: waitSecondsMax,
          default: waitSeconds,
          description: 'How many seconds to wait at the most; an empty list is the answer then.',
        }),
      ),
      from: Type.Optional(
        Type.String({
          maxLength: searchLength,
          description:
            'The author, if proven (`fromProven` is not false): an address, a domain (also those below it), or words of the address or the name. Senders choose their display names, so wait for an address or a domain where it matters.',
          examples: ['bob@example.net'],
        }),
      ),
      unproven: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Also take mail whose author is not proven. Anybody can have written that address into From, so do not use its codes and links.',
        }),
      ),
      subject: searchQuery.subject,
      after: Type.Optional(
        Type.String({
          format: 'date-time',
          description:
            'Mail that came after this instant, which may be there already. Without it: mail that comes from now on.',
        }),
      ),
      includeMalicious: Type.Optional(
        Type.Boolean({
          default: false,
          description: 'Whether mail in which a scanner found a virus (verdict "malicious") counts, too.',
        }),
      ),
    }),
    success: {
      status: 200,
      schema: listOf(
        Message,
        `Newest first; empty when the time was over. Of more than ${pageSizeMax} the oldest.`,
      ),
    },
    isAnswerShared: true,
    problems: ['too_many_streams'],
    handle: async ({ app, caller, params, query, signal }) => {
      const { timeout = waitSeconds, ...awaited } = query
      return waitForMessages(app, caller, params.id!, awaited, timeout * 1000, signal())
    },
  }),
  lookup({
    id: 'listMessages',
    method: 'get',
    path: '/v1/messages',
    tag: 'Messages',
    summary: 'List or search the messages of all inboxes that the key reaches, newest first.',
    description: 'The same as the list of one inbox, over all that the key reaches.',
    access: 'inbox',
    query: messagesQuery,
    success: { status: 200, schema: pageOf(Message) },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: async ({ app, caller, query }) =>
      listAnswer(
        await listMessages(
          app,
          caller,
          { ...filterOfQuery(query), direction: query.direction },
          pageOfQuery(query),
        ),
      ),
  }),
  lookup({
    id: 'getMessage',
    method: 'get',
    path: '/v1/messages/{id}',
    tag: 'Messages',
    summary: 'Show a message.',
    description:
      'With its whole text, what is new in it (`replyText`), a one-time code (`otp`), the links, and whether it is safe to answer (`autoReplyable`, `verdict`, `authentication`). Its `status` says how sending it went.',
    access: 'inbox',
    success: { status: 200, schema: Message },
    answerBytes: largeAnswerBytes,
    problems: [],
    handle: ({ app, caller, params }) => getMessage(app, caller, params.id!),
  }),
  operation({
    id: 'getRawMessage',
    method: 'get',
    path: '/v1/messages/{id}/raw',
    tag: 'Messages',
    summary: 'Download the original message as it crossed the wire.',
    description:
      "Returns the headers, signatures and MIME structure that the fields of a message do not show. Only Authentication-Results fields that came from outside in this server's name are left out.",
    access: 'inbox',
    query: shape({
      trace: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Whether an inbound message begins with the fields that this server added on arrival (Return-Path, Authentication-Results, Received).',
        }),
      ),
    }),
    success: {
      status: 200,
      download: 'message/rfc822',
      example: 'From: bob@example.net\r\nSubject: Re: The fish\r\n\r\nThree euros.\r\n',
    },
    problems: [],
    handle: async ({ app, caller, params, query }): Promise<Download> => ({
      contentType: 'message/rfc822',
      filename: `${params.id}.eml`,
      ...(await openRaw(app, caller, params.id!, { withTrace: query.trace ?? false })),
    }),
  }),
  lookup({
    id: 'listMessageDeliveries',
    method: 'get',
    path: '/v1/messages/{id}/deliveries',
    tag: 'Messages',
    summary: 'What became of an outbound message: one delivery for each recipient.',
    description:
      "Ask when a message is `pending` for long, or `failed`: each delivery has what the recipient's server said last, and when it is tried again.",
    access: 'inbox',
    success: { status: 200, schema: listOf(Delivery, 'One for each recipient.') },
    problems: [],
    handle: async ({ app, caller, params }) => ({
      data: await listMessageDeliveries(app, caller, params.id!),
    }),
  }),
]
