import { createKey, listKeys, revokeKey } from '../core/account/keys.ts'
import { changePod, createPod, deletePod, getPod, listPods } from '../core/account/pods.ts'
import { ApiKeyCreation, ApiKeyList, ApiKeyWithToken } from '../model/api-key.ts'
import { Pod, PodChange, PodCreation } from '../model/pod.ts'
import { pageOf, shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

export const podOperations: readonly Operation[] = [
  operation({
    id: 'createPod',
    method: 'post',
    path: '/v1/pods',
    tag: 'Pods',
    summary: 'Make a pod: an isolated part of the account for one tenant.',
    description:
      "For a tenant or an end user of yours. Give it a `clientId` of your own and use that wherever a pod's id is asked for.",
    access: 'account',
    body: PodCreation,
    success: { status: 201, schema: Pod },
    problems: ['client_id_taken'],
    handle: ({ app, body }) => createPod(app, body),
  }),
  operation({
    id: 'listPods',
    method: 'get',
    path: '/v1/pods',
    tag: 'Pods',
    summary: 'List the pods, the default pod first. A scoped key sees its own.',
    description: "To find a pod's id, or to see all tenants.",
    access: 'inbox',
    query: shape(pageQuery),
    success: { status: 200, schema: pageOf(Pod) },
    problems: [],
    handle: async ({ app, caller, query }) => listAnswer(await listPods(app, caller, pageOfQuery(query))),
  }),
  operation({
    id: 'getPod',
    method: 'get',
    path: '/v1/pods/{id}',
    tag: 'Pods',
    summary: 'Show a pod, by its id or clientId.',
    description: 'A scoped key sees its own pod and no other.',
    access: 'inbox',
    success: { status: 200, schema: Pod },
    problems: [],
    handle: ({ app, caller, params }) => getPod(app, caller, params.id!),
  }),
  operation({
    id: 'updatePod',
    method: 'patch',
    path: '/v1/pods/{id}',
    tag: 'Pods',
    summary: 'Change the name or clientId of a pod; null clears.',
    description: 'Only what the body names is changed. A `clientId` is unique in the account.',
    access: 'account',
    body: PodChange,
    success: { status: 200, schema: Pod },
    problems: ['client_id_taken'],
    handle: ({ app, caller, params, body }) => changePod(app, caller, params.id!, body),
  }),
  operation({
    id: 'deletePod',
    method: 'delete',
    path: '/v1/pods/{id}',
    tag: 'Pods',
    summary: 'Delete a pod that has no inboxes and no domains.',
    description:
      'Its inboxes and domains must be deleted before; the default pod stays. Its keys are revoked with it.',
    access: 'account',
    success: { status: 204 },
    problems: ['default_pod', 'pod_not_empty', 'pod_has_domains'],
    handle: ({ app, caller, params }) => deletePod(app, caller, params.id!),
  }),
  operation({
    id: 'createPodApiKey',
    method: 'post',
    path: '/v1/pods/{id}/api-keys',
    tag: 'API keys',
    summary: 'Make a key that reaches this pod alone.',
    description:
      "For a tenant's own software: it makes, changes and deletes inboxes of this pod, reads and sends in them, and manages the pod's domains and sender rules. It changes no webhooks and sees no other pod. The token is in this answer alone.",
    access: 'account',
    body: ApiKeyCreation,
    success: { status: 201, schema: ApiKeyWithToken },
    problems: ['api_key_limit_reached'],
    handle: ({ app, caller, params, body }) => createKey(app, caller, { pod: params.id! }, body.name ?? null),
  }),
  operation({
    id: 'listPodApiKeys',
    method: 'get',
    path: '/v1/pods/{id}/api-keys',
    tag: 'API keys',
    summary: "List the pod's active keys.",
    description:
      'Those of its inboxes stand with the inboxes. Of the tokens only the first and last characters are shown.',
    access: 'account',
    success: { status: 200, schema: ApiKeyList },
    problems: [],
    handle: async ({ app, caller, params }) => ({ data: await listKeys(app, caller, { pod: params.id! }) }),
  }),
  operation({
    id: 'revokePodApiKey',
    method: 'delete',
    path: '/v1/pods/{id}/api-keys/{keyId}',
    tag: 'API keys',
    summary: 'Revoke a key of the pod; it is refused from then on.',
    description: 'At once: the next request with it gets 401, and the streams that it holds open are closed.',
    access: 'account',
    success: { status: 204 },
    problems: [],
    handle: ({ app, caller, params }) => revokeKey(app, caller, { pod: params.id! }, params.keyId!),
  }),
]
