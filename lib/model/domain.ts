import Type from 'typebox'
import { limits } from '../base/limits.ts'
import { Id, Instant, nullableOneOf, nullableText, oneOf, shape } from './shape.ts'

export const DomainStatus = oneOf(['pending', 'verifying', 'verified', 'failed', 'under_review'], {
  description:
    'pending: added, none of its records found yet; verifying: being checked, or the last check found a needed record gone and the next one decides; verified: it sends and receives; failed: records missing or wrong after some were found, or not there 72 hours after it was added; it is verified as soon as they are right. under_review: held by the operator.',
})
export type DomainStatus = Type.Static<typeof DomainStatus>

export const recordPurposes = ['spf', 'dkim', 'dmarc', 'mx', 'return-path'] as const
export type RecordPurpose = (typeof recordPurposes)[number]

const recordStatuses = ['missing', 'invalid', 'valid'] as const
export type RecordStatus = (typeof recordStatuses)[number]

export const DomainRecord = shape(
  {
    type: oneOf(['TXT', 'CNAME', 'MX']),
    name: Type.String({
      description: 'The whole name, without a final dot.',
      examples: ['_dmarc.agents.example.com'],
    }),
    value: Type.String({ description: 'What to publish.', examples: ['v=DMARC1; p=none'] }),
    priority: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'MX alone has one.',
      examples: [null],
    }),
    purpose: oneOf(recordPurposes, {
      description:
        "What it is for. All but dmarc are needed; dmarc is not asked to replace a policy that is there. The owner's own SPF stays as it is: ours stands at a name of its own. An MX at a domain takes over all of its mail.",
      examples: ['dmarc'],
    }),
    status: oneOf(recordStatuses, {
      description: 'As of the last check. missing: not found yet; invalid: found but wrong.',
    }),
    found: Type.Array(Type.String({ examples: ['v=DMARC1; p=none'] }), {
      description: `What stands in DNS under this name, as of the last check: an MX as priority and host. At most ${limits.recordsFound}, the first ${limits.recordFoundLength} characters of each.`,
    }),
    problem: nullableText({
      description: 'What is wrong and what to do about it; null when the record is valid.',
      examples: [null],
    }),
  },
  { description: 'A DNS record to publish.' },
)
export type DomainRecord = Type.Static<typeof DomainRecord>

export const DomainWarning = shape(
  {
    code: oneOf(['competing_mx']),
    message: Type.String({ examples: ['Another host takes mail for this domain too: remove its MX.'] }),
    hosts: Type.Array(Type.String({ examples: ['mx.elsewhere.example'] }), {
      description: 'Lower-case, without a final dot.',
    }),
  },
  { description: "What does not hinder the domain's verification but loses mail." },
)
export type DomainWarning = Type.Static<typeof DomainWarning>

const podId = nullableText({
  description: 'The pod whose inboxes alone can use the domain; null: all of the account.',
})

export const Domain = shape(
  {
    id: Id,
    domain: Type.String({ description: 'In A-labels, lower-case.', examples: ['agents.example.com'] }),
    podId,
    status: DomainStatus,
    records: Type.Array(DomainRecord),
    problem: nullableOneOf(['domain_taken'], {
      description:
        'domain_taken: another pod added this domain, too, and its records were found first. It has the domain as long as they are right.',
      examples: [null],
    }),
    warnings: Type.Array(DomainWarning, { examples: [[]] }),
    verifiedAt: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      examples: [null],
    }),
    createdAt: Instant,
    updatedAt: Instant,
  },
  { description: 'A mail domain of its owner, whose addresses inboxes can have.' },
)
export type Domain = Type.Static<typeof Domain>

export const DomainCreation = shape({
  domain: Type.String({
    maxLength: 255,
    description: 'A domain or a subdomain; IDN in any form.',
    examples: ['agents.example.com'],
  }),
  podId: Type.Optional(
    nullableText({
      description:
        'A pod id or clientId, to let only its inboxes use the domain; null or omitted: all (with a pod key: its own pod).',
    }),
  ),
})
export type DomainCreation = Type.Static<typeof DomainCreation>

export const DomainChange = shape({
  podId: Type.Optional(
    nullableText({ description: 'A pod id or clientId, or null.', examples: ['customer-17'] }),
  ),
})
export type DomainChange = Type.Static<typeof DomainChange>
