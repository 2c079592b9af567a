import type { Sealed } from '../base/secrets.ts'
import type { PolicyWriter } from '../model/policy.ts'

/** The rows of lib/store/schema.sql, which says what each column means. JSON columns are text here. */
export interface MigrationRow {
  number: number
  name: string
  breaking: number
  appliedAt: string
  unusedSince: number | null
}

export interface SecretKeyRow {
  id: string
  createdAt: string
}

export interface AccountRow {
  id: string
  signingSecret: Sealed
  podCount: number
  inboxCount: number
  createdAt: string
  webhookUrl: string | null
  webhookSecret: Sealed | null
  healthAt: string | null
}

export interface MemberRow {
  address: string
  name: string | null
  createdAt: string
}

export interface PodRow {
  id: string
  clientId: string | null
  name: string | null
  isDefault: number
  inboxCount: number
  createdAt: string
}

export interface DomainRow {
  id: string
  domain: string
  podId: string | null
  selector: string
  dkimPrivateKey: Sealed
  dkimPublicKey: string
  createdAt: string
  status: string
  recordStatuses: string
  warnings: string
  losses: number
  verifiedAt: string | null
  updatedAt: string
  checkedAt: string | null
  checkingSince: string
  checkingUntil: string | null
  nextCheckAt: string | null
  problem: string | null
  found: string
  dkimSince: string
}

export interface DomainKeyRow {
  id: string
  domainId: string
  selector: string
  algorithm: string
  privateKey: Sealed | null
  publicKey: string
  state: string
  recordStatus: string
  found: string
  createdAt: string
  endsAt: string | null
}

export interface DomainUseRow {
  domain: string
  podId: string
  inboxCount: number
}

export interface InboxRow {
  id: string
  podId: string
  address: string
  displayName: string | null
  inboundCount: number
  outboundCount: number
  threadCount: number
  unreadThreadCount: number
  createdAt: string
  deletedAt: string | null
  purgedAt: string | null
  webhookUrl: string | null
  webhookSecret: Sealed | null
  forwardTo: string | null
  forwardWhen: string | null
  forwardStatus: string | null
  forwardFailures: number
  suspendedAt: string | null
  suspendedReason: string | null
  isSystem: number
  hasHeld: number
  clientId: string | null
  creationHash: string | null
  lastMessageMs: string | null
  storedKiB: number
}

export interface ApiKeyRow {
  id: string
  name: string | null
  podId: string | null
  inboxId: string | null
  tokenHash: string
  tokenPrefix: string
  last4: string
  createdAt: string
  lastUsedAt: string | null
  revokedAt: string | null
}

export interface RawRow {
  id: string
  sizeBytes: number
  sha256: string
  content: Buffer | null
  createdAt: string
}

export interface ThreadRow {
  id: string
  inboxId: string
  subject: string
  isRead: number
  messageCount: number
  lastMessageAt: string
  createdAt: string
  conversation: string | null
  participants: string | null
}

export interface MessageRow {
  id: string
  inboxId: string
  threadId: string
  direction: string
  status: string
  rawId: string | null
  rfcMessageId: string | null
  inReplyTo: string | null
  references: string
  mailFrom: string
  trace: string
  fromAddr: string
  toAddr: string
  headerTo: string | null
  deliveryRole: string | null
  replyTo: string | null
  cc: string
  bcc: string
  addressNames: string | null
  subject: string
  category: string
  autoReplyable: number
  verdict: string
  authentication: string
  createdAt: string
  readingId: string
  fromProven: number | null
  isNewInThread: number | null
  autoReplyReason: string | null
}

export interface ReadingRow {
  id: string
  bodyText: string
  bodyHtml: string
  attachments: string
  extracted: string | null
  parseProblems: string
}

export interface AttachmentTextRow {
  readingId: string
  index: number
  extractionMethod: string
  content: string | null
  createdAt: string
}

/** A message with what it says. */
export type WholeMessage = MessageRow & Omit<ReadingRow, 'id'>

export interface UnindexedBodyRow {
  messageId: string
  state: string
}

export interface DeliveryRow {
  id: string
  messageId: string
  recipient: string
  state: string
  captured: number
  attempts: number
  replyCode: number | null
  replyEnhanced: string | null
  replyText: string | null
  remoteHost: string | null
  nextAttemptAt: string | null
  createdAt: string
  updatedAt: string
  purpose: string
  mailFrom: string | null
  heldBy: string | null
  rcptTo: string | null
  /** What the last refusal is about (lib/base/reply.ts). */
  replyClass: string | null
  /** What who submitted it by SMTP asks to be told, as JSON (lib/core/outbound/notice-request.ts); null: nothing. */
  notify: string | null
  /** When what is owed of that is told at the latest; null: nothing is. */
  noticeAt: string | null
}

export interface StandingHoldRow {
  id: string
  inboxId: string | null
  podId: string | null
  domain: string | null
  createdAt: string
}

export interface AttemptRow {
  id: string
  deliveryId: string
  result: string
  replyCode: number | null
  replyEnhanced: string | null
  replyText: string
  remoteHost: string | null
  remoteAddress: string | null
  tls: string | null
  durationMs: number
  createdAt: string
}

export interface QueueEntryRow {
  id: string
  kind: string
  subjectId: string
  destination: string
  /** 'fast', 'slow' or 'held'. */
  lane: string
  isKnown: number
  turn: number
  dueAt: string
  expiresAt: string
  attempts: number
  leasedBy: string | null
  leasedUntil: string | null
  createdAt: string
  podId: string
  inboxId: string
  cutOffs: number
}

export interface DestinationRow {
  name: string
  failures: number
  failingSince: string
  lastFailure: string
  retryAt: string
  updatedAt: string
}

export interface EventRow {
  id: string
  type: string
  podId: string | null
  inboxId: string | null
  threadId: string | null
  messageId: string | null
  payload: string
  createdAt: string
}

/** On PostgreSQL alone, which gives it a number. */
export interface UnplacedRow {
  event: string
  call: string | null
}

export interface WebhookDeliveryRow {
  id: string
  eventId: string
  inboxId: string | null
  state: string
  attempts: number
  url: string
  status: number | null
  error: string | null
  nextAttemptAt: string | null
  createdAt: string
  updatedAt: string
}

export interface WebhookAttemptRow {
  id: string
  webhookDeliveryId: string
  url: string
  status: number | null
  answer: string | null
  error: string | null
  durationMs: number
  createdAt: string
}

export interface ForwardConfirmationRow {
  id: string
  inboxId: string
  address: string
  createdAt: string
  expiresAt: string
  usedAt: string | null
}

export interface IdempotencyRow {
  inboxId: string
  key: string
  podId: string
  requestHash: string
  status: number
  body: string
  createdAt: string
}

export interface PolicyModeRow {
  scope: string
  setBy: PolicyWriter
  direction: string
  mode: string
}

export interface PolicyRuleRow {
  id: string
  scope: string
  setBy: PolicyWriter
  direction: string
  type: string
  value: string
  createdAt: string
}

export interface PolicyAuditRow {
  id: string
  podId: string | null
  inboxId: string | null
  action: string
  direction: string
  mode: string | null
  type: string | null
  value: string | null
  ruleId: string | null
  address: string | null
  reason: string | null
  keyId: string | null
  createdAt: string
}

export interface SuppressionRow {
  recipient: string
  podId: string
  reason: string
  evidence: string | null
  messageId: string | null
  createdAt: string
  expiresAt: string | null
}

export interface ContactRow {
  inboxId: string
  address: string
  createdAt: string
}

export interface UsageRow {
  subject: string
  kind: string
  period: string
  count: number
}

export interface DailyUsageRow {
  day: string
  inboxId: string
  podId: string
  inbound: number
  outbound: number
  delivered: number
  bounced: number
  attachmentGiB: number
  attachmentBytes: number
  storedGiB: number
  storedBytes: number
}

export interface FeedbackRow {
  id: string
  type: string
  message: string
  context: string | null
  podId: string | null
  inboxId: string | null
  keyId: string | null
  createdAt: string
}

export interface DraftRow {
  id: string
  inboxId: string
  threadId: string | null
  to: string
  cc: string
  bcc: string
  subject: string | null
  body: string | null
  bodyHtml: string | null
  replyTo: string | null
  includeQuote: number | null
  autoSubmitted: number | null
  sendAt: string | null
  status: string
  messageId: string | null
  lastError: string | null
  revision: number
  createdAt: string
  updatedAt: string
  replyAll: number | null
  derived: string | null
  bodyFormat: string | null
}

export interface DraftAttachmentRow {
  id: string
  draftId: string
  filename: string
  contentType: string
  sizeBytes: number
  sha256: string
  content: Buffer | null
}

export interface GreylistEntryRow {
  slot: number
  key: string
  passes: number
  firstSeenAt: string
  expiresAt: string
}

export interface AuthenticationDeferralRow {
  id: string
  network: string
  firstAt: string
}

export interface StsPolicyRow {
  domain: string
  policyId: string
  mode: string
  mx: string
  maxAgeSeconds: number
  fetchedAt: string
  expiresAt: string
}

export interface TlsResultRow {
  day: string
  domain: string
  policyType: string
  type: string
  host: string
  count: number
  reportedAt: string | null
}

export interface NodeRow {
  id: string
  holder: string
  name: string
  version: string
  newestStep: number
  blobs: string
  bucketOwner: string | null
  state: 'up' | 'stopped' | 'gone'
  isDraining: number
  startedAt: string
  leasedUntil: string | null
  settings: string | null
}

export interface AcmeFileRow {
  id: string
  content: Sealed
  changedAt: string
}

export interface AcmeChallengeRow {
  token: string
  keyAuthorization: string
  createdAt: string
}

export interface SweepRow {
  name: string
  heldBy: string | null
}

export interface ReaderRow {
  holder: string
  podId: string
  inboxId: string
  type: string
}

export interface Tables {
  migration: MigrationRow
  secretKey: SecretKeyRow
  account: AccountRow
  member: MemberRow
  pod: PodRow
  domain: DomainRow
  domainKey: DomainKeyRow
  domainUse: DomainUseRow
  inbox: InboxRow
  apiKey: ApiKeyRow
  raw: RawRow
  thread: ThreadRow
  message: MessageRow
  reading: ReadingRow
  attachmentText: AttachmentTextRow
  unindexedBody: UnindexedBodyRow
  delivery: DeliveryRow
  attempt: AttemptRow
  standingHold: StandingHoldRow
  queueEntry: QueueEntryRow
  destination: DestinationRow
  event: EventRow
  unplaced: UnplacedRow
  webhookDelivery: WebhookDeliveryRow
  webhookAttempt: WebhookAttemptRow
  forwardConfirmation: ForwardConfirmationRow
  idempotency: IdempotencyRow
  policyMode: PolicyModeRow
  policyRule: PolicyRuleRow
  policyAudit: PolicyAuditRow
  suppression: SuppressionRow
  contact: ContactRow
  usage: UsageRow
  dailyUsage: DailyUsageRow
  feedback: FeedbackRow
  draft: DraftRow
  draftAttachment: DraftAttachmentRow
  greylistEntry: GreylistEntryRow
  authenticationDeferral: AuthenticationDeferralRow
  stsPolicy: StsPolicyRow
  tlsResult: TlsResultRow
  node: NodeRow
  acmeFile: AcmeFileRow
  acmeChallenge: AcmeChallengeRow
  sweep: SweepRow
  reader: ReaderRow
}
