/**
 * Every number of the product that bounds something and is not a setting. Each is met by a reply or a code
 * that says so; what an operator may change stands in lib/config/schema.ts instead.
 */
export const limits = {
  /** Lists: `limit` when none is given, and what a larger one is clamped to. */
  pageSize: 50,
  pageSizeMax: 100,
  /** The characters of a mailbox name. */
  mailboxNameMin: 3,
  mailboxNameMax: 30,
  /** Active keys of a pod, and of an inbox. */
  apiKeysPerScope: 20,
  /** Keys whose holders are remembered as long as nothing is committed. */
  keysKnown: 10_000,
  /** Sender rules of one scope in one direction. */
  policyRules: 1000,
  /** The text of a rule: an address, or a domain with `*@` before it. */
  policyValueLength: 320,
  /** How long the audit of sender rules is kept. */
  policyAuditDays: 90,
  /** Messages within an hour between two inboxes here in one thread, and how many of its newest are looked at. */
  replyLoopMessages: 20,
  replyLoopLookback: 200,
  /** Messages of a thread whose addresses make a send to them a reply. */
  replyParticipants: 100,
  /** The text that tells why an address is suppressed. */
  evidenceLength: 1000,
  /** How long daily and monthly counts are kept. */
  usageDays: 400,
  /** One check of a domain's DNS records; what isn't known by then is left as it was. Less than `stopMs`. */
  domainCheckMs: 8_000,
  /** How often a domain that isn't verified is checked at first, and how long so; the gaps grow from there to a day. */
  domainCheckFirstMs: 60_000,
  domainCheckFirstHourMs: 3_600_000,
  domainCheckDayMs: 86_400_000,
  /** How long after it was added a domain whose records never were right is `failed` and no longer `pending`. */
  domainPendingMs: 3 * 86_400_000,
  /** Checks in a row without its records after which a verified domain is `failed`. */
  domainLosses: 2,
  /** Due domains that are checked at once. */
  domainChecksAtOnce: 20,
  /** What is shown of what stands in DNS where a record of a domain is to stand: how many records, characters of each. */
  recordsFound: 10,
  recordFoundLength: 500,
  /** Hosts that a warning names. */
  competingHosts: 20,
  displayNameLength: 200,
  labelLength: 255,
  sendBodyLength: 100_000,
  sendBodyHtmlLength: 500_000,
  subjectLength: 998,
  /** Recipients of one send: to, cc and bcc together. */
  sendRecipients: 100,
  /** Drafts of an inbox that were not sent. */
  draftsPerInbox: 1000,
  /** Drafts that are composed at once when their time has come. */
  draftsAtOnce: 2,
  attachmentsBytes: 25 * 1024 * 1024,
  attachmentsCount: 100,
  /** A send as a form: its parts (recipients, attachments and fields), the header of each, and the bytes of all but the attachments. */
  formParts: 400,
  formPartHeaderBytes: 8 * 1024,
  formTextBytes: 4 * 1024 * 1024,
  filenameLength: 255,
  idempotencyKeyLength: 255,
  idempotencyHours: 24,
  /** Asking an address whether it wants the mail of an inbox: how long the link is good, how soon it may be asked again. */
  forwardConfirmationMs: 7 * 86_400_000,
  forwardCooldownMs: 60_000,
  /** Hard bounces in a row after which copies stop. */
  forwardFailures: 3,
  /** How many of an inbox's newest messages are looked at for the copy before this one. */
  forwardLookback: 200,
  /** Requests a minute from one address to the page on which forwarding is confirmed. */
  confirmPageRequestsPerMinute: 30,
  /** What a webhook is sent at the most; the text of a message is cut to fit. */
  webhookBodyBytes: 1024 * 1024,
  /** How many calls of a webhook fail in a row before it gets one call at a time; of how many webhooks this is remembered. */
  webhookFailures: 3,
  webhooksFailing: 10_000,
  /** How long an event waits at the most for the call of the one before it in its inbox to end. */
  webhookLaneMs: 500,
  /**
   * How many events are taken from the queue for each call that may be under way: most of them wait for an earlier event of
   * their inbox.
   */
  webhookTurns: 4,
  /** Deliveries of one event that are kept, the newest. */
  webhookDeliveriesPerEvent: 20,
  /** Rows that one write of a sweep deletes at the most. */
  sweepRows: 200,
  /** The newest messages that match a search: how many are counted and paged through. */
  searchMatches: 100_000,
  /** The same in a search for threads, where the thread of each match must be looked up. */
  searchThreadMatches: 15_000,
  /** Requests that wait for mail: how long, how many at once, and how often one looks without being told. */
  waitSeconds: 30,
  waitSecondsMax: 300,
  waiters: 10_000,
  waitPollMs: 5_000,
  /** Streams of events (WebSocket and Server-Sent Events): of the process, and of one key. */
  streams: 10_000,
  streamsPerKey: 10,
  /** How often a stream looks for events and revoked keys that another process wrote. */
  streamPollMs: 1_000,
  /** Events that are made into text at once: each can be `webhookBodyBytes` large. */
  streamBatch: 32,
  /** Rows of events that are read at once. */
  streamPage: 500,
  /** The newest events that all readers share: how many, their bytes, and how long. Older ones are read again. */
  streamWindowEvents: 10_000,
  streamWindowBytes: 32 * 1024 * 1024,
  streamWindowMs: 60_000,
  /** How many bytes may wait to go out to one reader, and how long, until the reader is too slow. */
  streamBufferBytes: 256 * 1024,
  streamDrainMs: 10_000,
  /** Subscriptions of one connection, and inboxes that one names. */
  streamSubscriptions: 20,
  streamInboxes: 100,
  /** A message of a WebSocket client, and how many (pings included) it may send in a time. */
  streamFrameBytes: 64 * 1024,
  streamFrames: 30,
  streamFramesMs: 10_000,
  /** How often a WebSocket client is pinged, and when its pong must be there (RFC 6455 §5.5.2). */
  streamPingMs: 30_000,
  streamPongMs: 10_000,
  /** How often Server-Sent Events say that they are alive, and what their client is told to wait before it connects again. */
  streamHeartbeatMs: 15_000,
  streamRetryMs: 2_000,
  /** What a closing handshake may take; less than `stopMs`. */
  streamCloseMs: 2_000,
  /** Characters of each filter of a search. */
  searchLength: 500,
  attachmentUrlMs: 3_600_000,
  /** The text and HTML of a message that the row keeps (each, in UTF-16 units); the raw keeps all. */
  storedBodyLength: 1024 * 1024,
  /** Raw up to this size is a row of the database, in the same commit; above it, a file. */
  blobInDatabaseBytes: 256 * 1024,
  /** An inbound header section; mailauth is quadratic in continuation lines, so both are refused early. */
  headerBytes: 64 * 1024,
  headerLines: 2000,
  /** Received fields after which a message is a loop (RFC 5321 §6.3). */
  receivedFields: 100,
  /** DKIM signatures checked of one message. */
  dkimSignatures: 10,
  /** What SPF, DKIM and DMARC of one message may take together; what is not known by then is a temperror. */
  authenticationMs: 30_000,
  /** Answers of DNS that are kept for the next message, and how long: those that say something, and those that say none. */
  dnsCacheEntries: 10_000,
  dnsPositiveMs: 60_000,
  dnsNegativeMs: 30_000,
  /** MIME parts of one message that are looked at. */
  mimeParts: 1000,
  /** Bytes of one text part, as they came, that are decoded; the rest of it is in the raw alone. */
  textPartBytes: 4 * 1024 * 1024,
  /** Of reports (bounces, complaints): the parts that are read, bytes of each, recipients, and characters of what was said of one. */
  reportParts: 10,
  reportPartBytes: 64 * 1024,
  reportRecipients: 100,
  reportTextLength: 1000,
  /** What the reading of one message may take, should its parser stop to say anything. */
  parseMs: 120_000,
  /** Messages of one thread that are shown; of a longer one the newest. */
  threadMessages: 1000,
  /** Message-IDs of In-Reply-To and References that are followed to find a thread. */
  references: 100,
  /** Characters of the References field of a message that we make; of a longer one the middle is left out. */
  referencesLength: 16 * 1024,
  smtpCommandBytes: 4096,
  /** How long a peer of the SMTP door may say nothing between two commands (RFC 5321 §4.5.3.2.7). */
  smtpIdlePeerMs: 300_000,
  /** Refused commands after which an SMTP session is ended. */
  smtpRefusals: 50,
  /** A configuration file. */
  configBytes: 256 * 1024,
  dnsTimeoutMs: 5_000,
  /** MX hosts that one attempt tries, addresses of each, and servers that say "not now" before the attempt ends. */
  mxHosts: 10,
  mxAddresses: 4,
  mxDeferrals: 5,
  /** What we wait for a peer, with the times of RFC 5321 §4.5.3.2; `total` bounds one attempt over all hosts. */
  smtpClientTimeouts: {
    connectMs: 30_000,
    greetingMs: 300_000,
    commandMs: 300_000,
    dataBlockMs: 180_000,
    finalReplyMs: 600_000,
    quitMs: 2_000,
    totalMs: 1_800_000,
  },
  /** One reply of a peer with all its lines, in bytes; a longer one is not read on. */
  smtpReplyBytes: 16 * 1024,
  /** Connections kept for the next message: how long, how many in all and to one address; messages of each. */
  smtpIdleMs: 5_000,
  smtpIdleSessions: 100,
  smtpIdleSessionsPerAddress: 20,
  smtpMessagesPerSession: 100,
  /** The text of a webhook's URL. */
  webhookUrlLength: 2048,
  /** One webhook call from DNS to the end of the answer, and the connecting to one address of it (TCP and TLS). */
  webhookTimeoutMs: 15_000,
  webhookConnectMs: 5_000,
  /** Webhook connections: in all, to one origin; how long one waits for the next call, also where the server says longer; its age. */
  webhookConnections: 1000,
  webhookConnectionsPerOrigin: 20,
  webhookIdleMs: 4_000,
  webhookIdleMaxMs: 30_000,
  webhookConnectionMs: 300_000,
  /** Of a webhook's answer: bytes that are kept for the log, that are read at all, and of its header section. */
  webhookAnswerBytes: 1024,
  webhookReadBytes: 16 * 1024,
  webhookHeaderBytes: 16 * 1024,
  /** The longest Retry-After of a webhook that is heeded. */
  webhookRetryAfterMs: 3_600_000,
  /** How long the machine's own addresses are believed before they are asked for again. */
  ownAddressesMs: 10_000,
  /** How long a claimed queue entry is its holder's; longer than any attempt may take. */
  leaseMs: 3_600_000,
  /** How often the queue looks for work that another process put. */
  queuePollMs: 1_000,
  /** What a process may take to stop, before it is stopped (SIGTERM). */
  stopMs: 10_000,
  /** Characters of the previous message that a quote takes along; the rest is left out and said so. */
  quoteLength: 100_000,
  /** Links of one message that are shown, those looked at for them, the longest, and how much of what each stands under. */
  links: 50,
  linksLookedAt: 2000,
  linkLength: 2048,
  linkTextLength: 200,
  /** Characters of HTML that are read as text, and of the text; above it the rest is left out. */
  htmlLength: 1024 * 1024,
  /** HTML elements inside one another that are kept as elements; deeper ones leave only their text. */
  htmlDepth: 100,
  /** HTML elements that are kept as elements; of what comes after them only the text. */
  htmlElements: 100_000,
  /** Quotes and lists inside one another: each makes every line of its text longer. */
  htmlIndents: 20,
  /** Open elements at which the reading of HTML starts afresh: its parser is quadratic in them. */
  htmlOpenElements: 500,
  /** Signing keys (one a domain) that are kept parsed. */
  dkimKeysParsed: 1000,
  /** Bytes of an attachment that are encoded at a stretch. */
  composeSliceBytes: 256 * 1024,
  /** Bytes of work after which a long computation lets others have the event loop. */
  sliceBytes: 1024 * 1024,
} as const
