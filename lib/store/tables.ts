/** The rows of lib/store/schema.sql, which says what each column means. JSON columns are text here. */
export interface MigrationRow {
  number: number
  name: string
  breaking: number
  appliedAt: string
}

export interface AccountRow {
  id: string
  signingSecret: string
  podCount: number
  inboxCount: number
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
  dkimPrivateKey: string
  dkimPublicKey: string
  createdAt: string
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
  bodyText: string
  bodyHtml: string
  attachments: string
  category: string
  autoReplyable: number
  verdict: string
  authentication: string
  createdAt: string
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
  state: string
  dueAt: string
  expiresAt: string
  attempts: number
  leasedBy: string | null
  leasedUntil: string | null
  createdAt: string
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

export interface IdempotencyRow {
  scope: string
  key: string
  requestHash: string
  status: number
  body: string
  createdAt: string
}

export interface Tables {
  migration: MigrationRow
  account: AccountRow
  pod: PodRow
  domain: DomainRow
  inbox: InboxRow
  apiKey: ApiKeyRow
  raw: RawRow
  thread: ThreadRow
  message: MessageRow
  delivery: DeliveryRow
  attempt: AttemptRow
  queueEntry: QueueEntryRow
  event: EventRow
  idempotency: IdempotencyRow
}
