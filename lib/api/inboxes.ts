import Type from 'typebox'
import {
  changeInbox,
  deleteInbox,
  ensureInbox,
  getInbox,
  inboxFaults,
  listInboxes,
} from '../core/account/inboxes.ts'
import { createKey, listKeys, revokeKey } from '../core/account/keys.ts'
import { ApiKeyCreation, ApiKeyList, ApiKeyWithToken } from '../model/api-key.ts'
import { Inbox, InboxChange, InboxCreation } from '../model/inbox.ts'
import { pageOf, shape } from '../model/shape.ts'
import { lookup, type Operation, operation, Repeated } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const forwardingProblems = [
  'invalid_forward_to',
  'forward_to_is_service_address',
  'forward_verification_cooldown',
  'invalid_forward_when',
  'forward_when_requires_forward_to',
  'forward_verification_limit',
] as const

export const inboxOperations: readonly Operation[] = [
  operation({
    id: 'createInbox',
    method: 'post',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'Make an inbox: a real email address.',
    description:
      "Everything may be left out: then the name is random and the domain the account's. Mail to the address is taken from this moment on. With a `webhookUrl` the answer has the `webhookSecret`, this once; with a `forwardTo` that is no member, a mail asks that address for its consent first. An address that was ever used is never given out again (`address_taken`).",
    access: 'pod',
    body: InboxCreation,
    faults: inboxFaults,
    success: { status: 201, schema: Inbox },
    repeated: 'The inbox that the same request made before, where it names a clientId.',
    problems: [
      'client_id_taken',
      'invalid_mailbox_name',
      'invalid_webhook_url',
      'invalid_domain',
      'invalid_pod',
      'address_taken',
      'spend_cap_paused',
      'inbox_limit_reached',
      'inbox_creation_limit',
      ...forwardingProblems,
    ],
    handle: async ({ app, caller, body }) => {
      const { inbox, isNew } = await ensureInbox(app, caller, body)
      return isNew ? inbox : new Repeated(inbox)
    },
  }),
  lookup({
    id: 'listInboxes',
    method: 'get',
    path: '/v1/inboxes',
    tag: 'Inboxes',
    summary: 'List the inboxes that the key reaches, newest first.',
    description:
      'An inbox key sees its one inbox, a pod key those of its pod, an account-wide key all of them or, with `podId`, those of one pod.',
    access: 'inbox',
    query: shape({
      ...pageQuery,
      podId: Type.Optional(
        Type.String({ description: 'A pod id or clientId; one that is unknown gives an empty list.' }),
      ),
      address: Type.Optional(
        Type.String({
          description: 'The inbox with this address alone; one that is unknown gives an empty list.',
        }),
      ),
      system: Type.Optional(
        Type.Boolean({
          default: false,
          description:
            'Whether the inbox that takes the mail of postmaster and abuse is listed and counted, too; it takes an account-wide key.',
        }),
      ),
    }),
    success: { status: 200, schema: pageOf(Inbox) },
    problems: ['forbidden'],
    handle: async ({ app, caller, query }) =>
      listAnswer(
        await listInboxes(
          app,
          caller,
          { pod: query.podId, address: query.address, withSystem: query.system },
          pageOfQuery(query),
        ),
      ),
  }),
  lookup({
    id: 'getInbox',
    method: 'get',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Show an inbox.',
    description:
      'With how it forwards and whether a webhook is set. The secret of the webhook is never shown again; make a new one instead.',
    access: 'inbox',
    success: { status: 200, schema: Inbox },
    problems: [],
    handle: ({ app, caller, params }) => getInbox(app, caller, params.id!),
  }),
  operation({
    id: 'updateInbox',
    method: 'patch',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Change an inbox: what is given, and nothing else. The webhook takes an account-wide key.',
    description:
      'Only what the body names is changed; null clears it. A `forwardTo` that is set again is asked for its consent again, unless it is a member; this is also how forwarding that was `disabled` goes on. An inbox key may change nothing here.',
    access: 'pod',
    body: InboxChange,
    faults: inboxFaults,
    success: { status: 200, schema: Inbox },
    problems: ['invalid_webhook_url', ...forwardingProblems],
    handle: ({ app, caller, params, body }) => changeInbox(app, caller, params.id!, body),
  }),
  operation({
    id: 'deleteInbox',
    method: 'delete',
    path: '/v1/inboxes/{id}',
    tag: 'Inboxes',
    summary: 'Delete an inbox for good. Its address is never given out again, and its keys are revoked.',
    description:
      "Mail to it is refused (`550 5.1.1`) from this moment on, and what it had is gone. This can't be undone.",
    access: 'pod',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => deleteInbox(app, caller, params.id!),
  }),
  operation({
    id: 'createInboxApiKey',
    method: 'post',
    path: '/v1/inboxes/{id}/api-keys',
    tag: 'API keys',
    summary: 'Make a key that reaches this inbox alone, to read and to send.',
    description:
      "For an agent that works with one inbox: what it can do wrong ends there. An account-wide key may ask for it, and a key of the inbox's pod. The token is in this answer alone. To rotate: make a new key, change over, revoke the old one.",
    access: 'pod',
    body: ApiKeyCreation,
    success: { status: 201, schema: ApiKeyWithToken },
    problems: ['api_key_limit_reached'],
    handle: ({ app, caller, params, body }) =>
      createKey(app, caller, { inbox: params.id! }, body.name ?? null),
  }),
  operation({
    id: 'listInboxApiKeys',
    method: 'get',
    path: '/v1/inboxes/{id}/api-keys',
    tag: 'API keys',
    summary: "List the inbox's active keys.",
    description:
      'To see what is in use (`lastUsedAt`) and to find the id of the one to revoke. Of the tokens only the first and last characters are shown.',
    access: 'pod',
    success: { status: 200, schema: ApiKeyList },
    problems: [],
    handle: async ({ app, caller, params }) => ({ data: await listKeys(app, caller, { inbox: params.id! }) }),
  }),
  operation({
    id: 'revokeInboxApiKey',
    method: 'delete',
    path: '/v1/inboxes/{id}/api-keys/{keyId}',
    tag: 'API keys',
    summary: 'Revoke a key of the inbox; it is refused from then on.',
    description: 'At once: the next request with it gets 401, and the streams that it holds open are closed.',
    access: 'pod',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => revokeKey(app, caller, { inbox: params.id! }, params.keyId!),
  }),
]
