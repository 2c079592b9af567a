import Type from 'typebox'
import {
  changeDomain,
  createDomain,
  deleteDomain,
  getDomain,
  listDomains,
  verifyDomain,
} from '../core/domains/domains.ts'
import { Domain, DomainChange, DomainCreation } from '../model/domain.ts'
import { pageOf, shape } from '../model/shape.ts'
import { type Operation, operation } from './operation.ts'
import { listAnswer, pageOfQuery, pageQuery } from './page.ts'

const tag = 'Domains'

export const domainOperations: readonly Operation[] = [
  operation({
    id: 'createDomain',
    method: 'post',
    path: '/v1/domains',
    tag,
    summary: 'Add a domain. Publish its records; it is checked every minute at first.',
    description:
      'The answer has the DNS `records` to publish, checked once for at most 5 seconds. Each has a `purpose`: do what is right for it, not for its type, and read its `problem` before you publish it. As soon as all that are needed are found, the domain is `verified` by itself, and inboxes can be made in it.',
    access: 'pod',
    body: DomainCreation,
    success: { status: 201, schema: Domain },
    problems: [
      'unregistrable_domain',
      'domain_exists',
      'domain_under_review',
      'domain_limit_reached',
      'invalid_pod',
    ],
    handle: ({ app, caller, body }) => createDomain(app, caller, body),
  }),
  operation({
    id: 'listDomains',
    method: 'get',
    path: '/v1/domains',
    tag,
    summary: 'List the domains, newest first. A pod key sees those of its pod.',
    description:
      "To see which are `verified` and can be used, and which have `warnings`. The installation's own domain, which all pods use, is not among them and no key reaches it (404): its operator sees to it, by `mailboxctl dns check`.",
    access: 'pod',
    query: shape({
      ...pageQuery,
      domain: Type.Optional(
        Type.String({
          description:
            'Those of this name alone, of which each pod may have one; one that is unknown gives an empty list.',
        }),
      ),
    }),
    success: { status: 200, schema: pageOf(Domain) },
    problems: [],
    handle: async ({ app, caller, query }) =>
      listAnswer(await listDomains(app, caller, pageOfQuery(query), query.domain)),
  }),
  operation({
    id: 'getDomain',
    method: 'get',
    path: '/v1/domains/{id}',
    tag,
    summary: 'Show a domain, with its records as of the last check.',
    description:
      'What each record is worth (`missing`, `invalid`, `valid`), what was found instead of it, and what to do about it.',
    access: 'pod',
    success: { status: 200, schema: Domain },
    problems: [],
    handle: ({ app, caller, params }) => getDomain(app, caller, params.id!),
  }),
  operation({
    id: 'verifyDomain',
    method: 'post',
    path: '/v1/domains/{id}/verify',
    tag,
    summary: 'Check the records of a domain now.',
    description:
      'Not needed, for the domain is checked by itself; it saves waiting after the records were published. The answer says of each record what was found.',
    access: 'pod',
    success: { status: 200, schema: Domain },
    problems: ['domain_under_review'],
    handle: ({ app, caller, params }) => verifyDomain(app, caller, params.id!),
  }),
  operation({
    id: 'updateDomain',
    method: 'patch',
    path: '/v1/domains/{id}',
    tag,
    summary: 'Let one pod alone use the domain, or all pods (null).',
    description: 'It is refused while inboxes of other pods use the domain.',
    access: 'account',
    body: DomainChange,
    success: { status: 200, schema: Domain },
    problems: ['domain_under_review', 'domain_in_use', 'domain_exists', 'invalid_pod'],
    handle: ({ app, caller, params, body }) => changeDomain(app, caller, params.id!, body),
  }),
  operation({
    id: 'deleteDomain',
    method: 'delete',
    path: '/v1/domains/{id}',
    tag,
    summary: 'Delete a domain that has no inboxes, and its key.',
    description: 'Its records can be taken out of DNS then.',
    access: 'pod',
    success: { status: 204 },
    problems: ['domain_under_review', 'domain_has_inboxes'],
    handle: ({ app, caller, params }) => deleteDomain(app, caller, params.id!),
  }),
]
