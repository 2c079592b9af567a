import Type from 'typebox'
import { recordFoundLength, recordsFound } from '../base/lengths.ts'
import { idOf, instantOf, named, nullableOneOf, nullableText, oneOf } from './shape.ts'

export const DomainStatus = oneOf(['pending', 'verifying', 'verified', 'failed', 'under_review'], {
  title: 'DomainStatus',
  description:
    'pending: added, none of its records found yet; verifying: being checked, or the last check found a needed record gone and the next one decides; verified: it sends and receives; failed: records missing or wrong after some were found, or not there 72 hours after it was added; it is verified as soon as they are right. under_review: held by the operator.',
})
export type DomainStatus = Type.Static<typeof DomainStatus>

export const recordPurposes = [
  'spf',
  'dkim',
  'dmarc',
  'mx',
  'return-path',
  'mta-sts',
  'mta-sts-host',
  'dkim-ed25519',
  'dkim-next',
  'dkim-previous',
] as const
export type RecordPurpose = (typeof recordPurposes)[number]

const recordStatuses = ['missing', 'invalid', 'valid'] as const
export type RecordStatus = (typeof recordStatuses)[number]

export const DomainRecord = named(
  'DomainRecord',
  'A DNS record to publish, whether it is right, and what was found instead of it when it is not.',
  {
    type: oneOf(['TXT', 'CNAME', 'MX'], {
      title: 'DomainRecordType',
      description: 'Which kind of DNS record to publish.',
    }),
    name: Type.String({
      description: 'The whole name, without a final dot.',
      examples: ['_dmarc.agents.example.com'],
    }),
    value: Type.String({
      description:
        'What to publish as the value of the record, as it stands. For dmarc: the record that stands in DNS, if there is one.',
      examples: ['v=DMARC1; p=none'],
    }),
    priority: Type.Unsafe<number | null>({
      type: ['integer', 'null'],
      description: 'The number to publish beside an MX; null for the others, which have none.',
      examples: [null],
    }),
    purpose: oneOf(recordPurposes, {
      title: 'DomainRecordPurpose',
      description:
        "What it is for. mx, dkim, spf and return-path are needed. dkim-ed25519: a second key, which signs, too, when its record is found; dkim-next: a key that takes the place of one of now when its record is found; dkim-previous: one that signed until then, to be left in DNS as long as it is listed. mta-sts and mta-sts-host are listed where the server has such a policy. dmarc is listed as soon as DNS has said whether a policy is there, and not where the domain inherits one. The owner's own SPF stays as it is: ours stands at a name of its own. An MX at a domain takes over all of its mail.",
      examples: ['dmarc'],
    }),
    status: oneOf(recordStatuses, {
      title: 'DomainRecordStatus',
      description:
        'As of the last check. missing: not found yet, or not known because DNS did not answer (`problem` says so). invalid: found but wrong, as `problem` says. valid: published and right.',
    }),
    found: Type.Array(Type.String({ examples: ['v=DMARC1; p=none'] }), {
      description: `What stands in DNS under this name, as of the last check: an MX as priority and host. At most ${recordsFound}, the first ${recordFoundLength} characters of each.`,
    }),
    problem: nullableText({
      description: 'What is wrong and what to do about it; null when the record is valid.',
      examples: [null],
    }),
  },
)
export type DomainRecord = Type.Static<typeof DomainRecord>

export const DomainWarning = named(
  'DomainWarning',
  "What does not hinder the domain's verification but loses mail; look at it when all records are right, too.",
  {
    code: oneOf(['competing_mx'], {
      title: 'DomainWarningCode',
      description:
        'competing_mx: another host takes mail for the domain with the same or a smaller priority number, so that a part of its mail never comes here.',
    }),
    message: Type.String({
      description: 'What is wrong and what to do about it.',
      examples: ['Another host takes mail for this domain too: remove its MX.'],
    }),
    hosts: Type.Array(Type.String({ examples: ['mx.elsewhere.example'] }), {
      description: 'The other mail servers that take its mail, in lower case, without a final dot.',
    }),
  },
)
export type DomainWarning = Type.Static<typeof DomainWarning>

const podId = nullableText({
  description: 'The pod whose inboxes alone can use the domain; null: all of the account.',
})

export const Domain = named(
  'Domain',
  'A mail domain of its owner, whose addresses inboxes can have as soon as its records in DNS are right.',
  {
    id: idOf('Names the domain in paths.'),
    domain: Type.String({
      description: 'The name of the domain, in A-labels and lower case.',
      examples: ['agents.example.com'],
    }),
    podId,
    status: DomainStatus,
    records: Type.Array(DomainRecord, {
      description:
        'The DNS records to publish. They may change: look here and not at what was published elsewhere.',
    }),
    problem: nullableOneOf(['domain_taken'], {
      title: 'DomainProblem',
      description:
        'domain_taken: another pod added this domain, too, and its records were found first. It has the domain as long as they are right.',
      examples: [null],
    }),
    warnings: Type.Array(DomainWarning, {
      description:
        'What loses mail though every record is right; look here when the domain is verified, too.',
      examples: [[]],
    }),
    verifiedAt: Type.Unsafe<string | null>({
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When its records were first found right; null: they never were.',
      examples: [null],
    }),
    createdAt: instantOf('When it was added.'),
    updatedAt: instantOf('When its status, records or pod last changed.'),
  },
)
export type Domain = Type.Static<typeof Domain>

export const DomainCreation = named('DomainCreation', 'A domain that is to be added.', {
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

export const DomainChange = named('DomainChange', 'What of a domain becomes something else.', {
  podId: Type.Optional(
    nullableText({
      description: 'A pod id or clientId, to let its inboxes alone use the domain; null: those of all pods.',
      examples: ['customer-17'],
    }),
  ),
})
export type DomainChange = Type.Static<typeof DomainChange>
