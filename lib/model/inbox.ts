import Type from 'typebox'
import { displayNameLength } from '../base/lengths.ts'
import { mailboxNameMax, mailboxNameMin } from '../base/problem.ts'
import { idOf, instantOf, labelLength, named, nullableOneOf, nullableText } from './shape.ts'

const displayName = nullableText({
  maxLength: displayNameLength,
  description: 'The name in the From header of what the inbox sends.',
  examples: ['Support'],
})

const webhookUrl = nullableText({
  description:
    "Called for this inbox's events, instead of the account's webhook. null or an empty text: none. The first time one is set, the answer has the webhookSecret; it stays when the URL changes.",
})

/** Which mail is forwarded: all; what an agent should not answer by itself; what no webhook and no stream took. */
export const forwardModes = ['always', 'needs_human', 'webhook_failed'] as const

export const Inbox = named(
  'Inbox',
  'A mailbox of an agent with an address of its own: mail to it is taken, and what the agent sends comes from it.',
  {
    id: idOf('Names the inbox; its address does, too, wherever an id is asked for.'),
    podId: idOf('The pod that the inbox is in; the default pod when none was given.'),
    clientId: nullableText({
      description: 'Your own name for the inbox, unique in its pod, as it was given when it was made.',
      examples: ['support'],
    }),
    address: Type.String({
      format: 'email',
      description: 'Mail to it comes here, and what is sent comes from it.',
    }),
    displayName,
    webhookUrl: nullableText({
      description:
        "Called for this inbox's events, instead of the account's webhook. An inbox key does not see it.",
    }),
    webhookSecret: Type.Optional(
      Type.String({
        description: 'What calls of the webhook are signed with. Only in the answer that made it.',
      }),
    ),
    forwardTo: nullableText({ description: 'Gets copies of the mail that comes in.' }),
    forwardWhen: nullableOneOf(forwardModes, {
      title: 'ForwardWhen',
      description:
        'Which mail is forwarded, of what is neither spam nor marketing. always: all. needs_human: what an agent should not answer by itself (autoReplyable false). webhook_failed: what no webhook and no stream took. null when forwardTo is not set.',
    }),
    forwardStatus: nullableOneOf(['pending', 'active', 'disabled'], {
      title: 'ForwardStatus',
      description:
        'active: copies flow. pending: forwardTo was asked by mail and has not used the link yet; set it again to send the link anew. disabled: copies to it came back three times in a row, or it complained; set it again to go on. null when forwardTo is not set.',
    }),
    createdAt: instantOf('When it was made; mail to it is taken since then.'),
  },
)
export type Inbox = Type.Static<typeof Inbox>

/** Any text, so that one that is wrong is told by a code of its own. */
const forwarding = {
  forwardTo: Type.Optional(
    nullableText({
      description:
        'An address that is not of this server. A member gets copies at once, any other a mail with a link that must be used first.',
      examples: ['ann@example.com'],
    }),
  ),
  forwardWhen: Type.Optional(
    nullableText({
      description: `${forwardModes.join(', ')}; ${forwardModes[0]} unless said.`,
      examples: [forwardModes[0]],
    }),
  ),
}

export const InboxCreation = named('InboxCreation', 'An inbox that is to be made.', {
  mailboxName: Type.Optional(
    Type.String({
      description: `The part before the @: ${mailboxNameMin} to ${mailboxNameMax} characters of a-z, 0-9, dot, hyphen, underscore. Random when omitted.`,
    }),
  ),
  displayName: Type.Optional(displayName),
  domain: Type.Optional(Type.String({ description: "The account's default domain when omitted." })),
  podId: Type.Optional(Type.String({ description: 'A pod id or clientId; the default pod when omitted.' })),
  clientId: Type.Optional(
    nullableText({
      maxLength: labelLength,
      description:
        'Your own name for the inbox, unique in its pod. The same request again gives the inbox that it made, with 200, so that a program may ask for it at each start; another request with the same clientId is refused.',
      examples: ['support'],
    }),
  ),
  webhookUrl: Type.Optional(webhookUrl),
  ...forwarding,
})
export type InboxCreation = Type.Static<typeof InboxCreation>

export const InboxChange = named('InboxChange', 'What of an inbox becomes something else.', {
  displayName: Type.Optional(displayName),
  webhookUrl: Type.Optional(webhookUrl),
  ...forwarding,
})
export type InboxChange = Type.Static<typeof InboxChange>
