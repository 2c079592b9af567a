/**
 * Every number of the product that bounds something and is not a setting. Each is met by a reply or a code
 * that says so; what an operator may change stands in lib/config/schema.ts instead.
 */
export const limits = {
  /**
   * The bucket of large messages: connections to it; how long one takes; attempts of a request, and the pause after the first
   * (four times as long after each); what an answer that is no message may have; objects of one page of a list; how long the
   * removal of an object is waited for, and how long none is tried after one that failed (the sweep does those).
   */
  bucketConnections: 20,
  bucketConnectMs: 5000,
  bucketAttempts: 3,
  bucketPauseMs: 100,
  bucketAnswerBytes: 4 * 1024 * 1024,
  /** What is read of the object that says whose the others are: a name, a path and a host's name. */
  bucketOwnerBytes: 16 * 1024,
  bucketPage: 1000,
  /** Large messages that a move to or from the bucket has under way at once. */
  movedAtOnce: 8,
  bucketDeleteMs: 5000,
  bucketRestMs: 60_000,
  /**
   * A PostgreSQL server: connections of a pool that is not the daemon's own, those of each thread that reads or indexes; how long
   * a connection may take, an answer, and a transaction that asks nothing; how long a start waits until a daemon that ended is known to have.
   */
  postgresConnections: 4,
  postgresReaders: 2,
  postgresConnectMs: 5000,
  postgresQueryMs: 60_000,
  postgresIdleMs: 10_000,
  postgresLockMs: 12_000,
  /**
   * How long is rested before a lock that was lost with its connection is asked for again, how long writes of which nobody waits for the end
   * may take when the store closes, and how long a connection may take to end.
   */
  postgresAgainMs: 500,
  postgresCloseMs: 3_000,
  postgresGoodbyeMs: 1_000,
  /** How long all writes must succeed before an outage of the database is told as over, when clients may ask again, and how long /health waits for a server, who brings mail or sends some. */
  outageSteadyMs: 5_000,
  outageRetrySeconds: 10,
  healthMs: 2_000,
  mailStorageMs: 20_000,
  /**
   * A message that has waited so long is not stored any more, because its sender gets a 451. How long a statement waits for what others
   * keep locked, of a write that others share as well for a moment only: it is tried again, in all for longer than a node that stands still
   * in a transaction keeps it. Connections of a pool that writes leave to reads, if there are so many.
   */
  mailBegunMs: 8_000,
  postgresLockWaitMs: 2_000,
  postgresLockTryMs: 400,
  postgresLeftConnections: 2,
  /** How often it is looked whether the server's disk has room, and while it has none: before what is written in its place could be taken for the end of it. */
  serverRoomMs: 10_000,
  serverShortMs: 2_000,
  /** The longest rest of a transaction that met another one, before it is done again. */
  postgresConflictMs: 128,
  /** An upgrade beside nodes that work: how long it waits for a table, in which they wait for it; how long it lets them go on, and how often it tries. */
  schemaLockMs: 1000,
  schemaLockRestMs: 2000,
  schemaLockTries: 30,
  /**
   * Several nodes on one database: how often each renews its lease and asks whether its lock is there; how long its lease holds; how long
   * it relies on what it holds after it began to renew, and how long the server keeps the lock of a process that stands still.
   */
  nodeBeatMs: 2_000,
  nodeLeaseMs: 30_000,
  nodeSureMs: 10_000,
  /** How far the clock of a node may be from that of the database's server, by which all nodes are held. */
  nodeClockMs: 60_000,
  /** How long what is committed is gathered until the other processes are told; and when who can not hear them tries again. */
  bellRestMs: 25,
  bellAgainMs: 1_000,
  /** How long a node that ended is remembered. */
  nodeKeptMs: 7 * 86_400_000,
  /** An object without a row is set aside when it is older: whoever put it is through with it, or gone. */
  strayObjectMs: 86_400_000,
  /** How long a file without a row is kept in `stray/`. */
  strayKeptMs: 30 * 86_400_000,
  /** More files without a row than this, and than this share of all, are left where they are: the database may be the wrong one. */
  fewStrays: 10,
  strayShare: 0.01,
  /** How long `mailboxctl status` waits for the bucket. */
  statusBucketMs: 5_000,
  /** Files without a row that one sweep moves; the next one moves more. */
  straysAtOnce: 10_000,
  /** A copy of an object stays so long after it was read, for its reader; and at the most so long. */
  cacheKeptMs: 600_000,
  cacheOldMs: 86_400_000,
  /** Lists: `limit` when none is given, and what a larger one is clamped to. */
  pageSize: 50,
  pageSizeMax: 100,
  /**
   * The texts of the messages of one list: beyond so many bytes each is cut to its beginning (in characters), its HTML
   * and its longer lists (in bytes) left out, and the message says `bodyTruncated`. Bytes of such rows are walked over in
   * one turn of the event loop.
   */
  listedBytes: 2 * 1024 * 1024,
  listedTextLength: 1000,
  listedFieldBytes: 2048,
  listedSliceBytes: 8 * 1024 * 1024,
  /** A page or a message of more than this is read in a turn of the event loop of its own, so that many of them leave others theirs. */
  listedTurnBytes: 256 * 1024,
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
  /** Messages of a thread that are read for its participants or correspondents. */
  replyParticipants: 100,
  /** Participants of one thread, and how many of them others may name: the rest is for those whom the inbox writes to. */
  threadParticipants: 300,
  namedParticipants: 100,
  /** Recipients that the header of a received message may give a reply, and a reply to all. */
  derivedRecipients: 10,
  derivedRecipientsOfAll: 50,
  /** The text that tells why an address is suppressed. */
  evidenceLength: 1000,
  /** How long daily and monthly counts are kept. */
  usageDays: 400,
  /**
   * What was sent and received: days that are asked for at once, and unless said; rows of inboxes and days that one turn of
   * the event loop reads; inboxes that are told apart, and those of them that are listed.
   */
  usageDaysAsked: 92,
  usageDefaultDays: 30,
  usageSliceRows: 5_000,
  usageInboxes: 100_000,
  usageRows: 1_000,
  /** Notes for the operator: the characters of one and of its context, its body; a day by one key and by a pod; kept in all. */
  feedbackLength: 10_000,
  feedbackBodyBytes: 128 * 1024,
  feedbackPerKey: 20,
  feedbackPerPod: 200,
  feedbackKept: 10_000,
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
  /** Name servers of a zone that an operator's check asks, and how long it waits until it asks again for what is missing. */
  nameServersAsked: 4,
  dnsWaitMs: 15_000,
  /** What one question to the name servers of a zone may take, and one part of what the operator has checked (DNS, a door, the database). */
  nameServerMs: 4_000,
  checkMs: 12_000,
  /** How long before a DNSSEC signature ends it is told. */
  dnssecSoonMs: 2 * 86_400_000,
  /** How often it is looked whether the clock was set back, and by how much it is to be. */
  clockLookMs: 2_000,
  clockStepMs: 2_000,
  /** What the doctor finds enough: of the clock, days of a certificate, memory for all of it and what is available, files beside connections. */
  clockSkewMs: 60_000,
  certificateSoonDays: 14,
  memoryEnough: 512 * 1024 * 1024,
  memoryFree: 64 * 1024 * 1024,
  filesBeside: 200,
  /** The part of a disk that is left when it is nearly full, and how long a connection to port 25 of another may take. */
  diskNearlyFull: 0.05,
  port25Ms: 5_000,
  /** What is shown of what stands in DNS where a record of a domain is to stand: how many records, characters of each. */
  recordsFound: 10,
  recordFoundLength: 500,
  /** How long the record of a DKIM key is to stay after another key took its place. */
  dkimPreviousMs: 7 * 86_400_000,
  /** Hosts that a warning names. */
  competingHosts: 20,
  displayNameLength: 200,
  /** An address with a display name, as a request writes it. */
  mailboxLength: 998,
  /** Addresses of Reply-To in a submitted message. */
  replyToAddresses: 10,
  /** Addresses in the header of a submitted message, of each of which the rules are asked. */
  namedAddresses: 200,
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
  /** A send as a form: its parts (recipients, attachments and fields), the header of each, and the bytes of all fields. */
  formParts: 400,
  formPartHeaderBytes: 8 * 1024,
  formTextBytes: 2 * 1024 * 1024,
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
  /** One event as it is told, at the most (`truncated` says what was cut), and the least that each has room for in a list. */
  eventBytes: 1024 * 1024,
  listedEventBytes: 10 * 1024,
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
  /** Messages that a write deletes at the most because of their age. */
  expiredAtOnce: 50,
  /** Pages of the database that are free and stay so, for what comes next; and those that are given back to the disk at once. */
  freePagesKept: 250,
  freePagesAtOnce: 250,
  /** Files that are looked at at the start for whether a row has them, until others have the event loop. */
  filesAtOnce: 50,
  /**
   * Where several processes write to one database: how many events get their places at once, how often it is looked for those of a process
   * that ended, how long it rests while another process gives places, and how long a request waits for a place (503).
   */
  placedAtOnce: 256,
  placeLookMs: 1_000,
  placeRestMs: 10,
  placeWaitMs: 10_000,
  /** How often mailboxctl looks for new events. */
  followMs: 500,
  /** What a check of all that was promised tells of each promise, and when it looks again for files that came or went meanwhile. */
  verifyFindings: 100,
  verifyLookMs: 1_000,
  /** How many raws, of at most 256 KiB each, `mailboxctl verify` reads from the database in one statement. */
  verifyRaws: 32,
  /** How long the database is kept as it was before an upgrade. */
  beforeUpgradeMs: 7 * 86_400_000,
  /**
   * How many large messages a backup may have, whose names are held while it is restored (100 MB); and how long a small text of
   * it, or a line of a list, may be. Who has more copies the data directory while mailboxd is stopped.
   */
  backupFiles: 1_000_000,
  backupTextBytes: 64 * 1024,
  /** Free room that a backup leaves beside the copy of the database that it makes. */
  backupRoomBytes: 64 * 1024 * 1024,
  /** The newest messages that match a search: how many are counted and paged through. */
  searchMatches: 100_000,
  /** The same in a search for threads, where the thread of each match must be looked up. */
  searchThreadMatches: 15_000,
  /**
   * Requests that wait for mail: how long, how many at once in all and with one key, how many of them are answered in one
   * turn of the event loop, with how many bytes of texts.
   */
  waitSeconds: 30,
  waitSecondsMax: 300,
  waiters: 10_000,
  waitsPerKey: 100,
  waitersAtOnce: 50,
  waitersTurnBytes: 2 * 1024 * 1024,
  /** How long a request that waits for mail may look through the mail that is there, also if it waits for less time. */
  waitLookMs: 5_000,
  /** How many different inboxes and types the readers of one node are told to the others by. */
  readScopes: 1000,
  /** How often the inboxes that somebody waits for are looked at without being told; whole times `streamPollMs`. */
  waitPollMs: 5_000,
  /** Streams of events (WebSocket and Server-Sent Events): of the process, and of one key. */
  streams: 10_000,
  streamsPerKey: 10,
  /** How often a stream looks for events and revoked keys that another process wrote. */
  streamPollMs: 1_000,
  /** Events that are looked at together, and of all readers those that are made into text at once: each can be `eventBytes` large. */
  streamBatch: 32,
  streamTextsAtOnce: 4,
  /** Keys, and inboxes that are waited for, that are asked for at once. */
  streamPage: 500,
  /** Rows of events that one reader of the past holds. */
  streamReplayRows: 100,
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
  /** The same for a reader that was too slow, and has to read what waits for it before it comes to the close frame. */
  streamSlowCloseMs: 30_000,
  /** Names of event types in one subscription, and inboxes of a pod key's reach that `subscribed` names. */
  streamTypes: 100,
  streamInboxesNamed: 1000,
  /** Characters of each filter of a search. */
  searchLength: 500,
  attachmentUrlMs: 3_600_000,
  /** The text and HTML of a message that the row keeps (each, in UTF-16 units); the raw keeps all. */
  storedBodyLength: 1024 * 1024,
  /** Raw up to this size is a row of the database, in the same commit; above it, a file. */
  blobInDatabaseBytes: 256 * 1024,
  /** An inbound header section. Microsoft 365 and lists of recipients fill more than 64 KiB; a larger one is refused early. */
  headerBytes: 256 * 1024,
  headerLines: 5000,
  /** Mailboxes that From may name: each is looked for in the rules that block. */
  namedAuthors: 100,
  /** Received fields after which a message is a loop (RFC 5321 §6.3). */
  receivedFields: 100,
  /** DKIM signatures checked of one message, and sets of its ARC chain (RFC 8617 §4.2.1). */
  dkimSignatures: 10,
  arcSets: 50,
  /** Bodies up to this size are hashed as often as their signatures differ (l=), larger ones this often. */
  dkimSmallBytes: 1024 * 1024,
  dkimBodyHashes: 3,
  /** Bytes of a body that are made canonical and hashed before others have the event loop. */
  hashSliceBytes: 256 * 1024,
  /** Keys of strangers: bits of an RSA modulus that are believed (RFC 8301), and characters of a key's record. */
  dkimKeyBitsMin: 1024,
  dkimKeyBits: 4096,
  dkimRecordLength: 8192,
  /**
   * What SPF, the DKIM signatures, ARC and DMARC of one message may take, each for itself: a stranger's slow DNS must not
   * use up the time of the From domain's. What is not known by then is a temperror.
   */
  authenticationMs: 15_000,
  /**
   * A message that can't be judged because DNS does not say what decides: how long from its first attempt on it is
   * deferred (451 4.7.26), how long that is remembered, and how many are, of one block of addresses (a /24 of IPv4, a /48 of IPv6) and in all.
   */
  deferralMs: 4 * 3_600_000,
  deferralKeptMs: 28 * 3_600_000,
  deferralsPerNetwork: 200,
  deferrals: 20_000,
  /**
   * One answer of DNS, in bytes; DNS has room for 64 KiB, which a stranger's name server fills for every name of his. No record that
   * mail needs comes near it, and most is left for the other texts at a domain's own name.
   */
  dnsAnswerBytes: 16 * 1024,
  /**
   * Answers of DNS that are kept for the next message, of the main thread and of each thread of sessions: their bytes, where each counts
   * so many more than its text, and how long: those that say something, and those that say none.
   */
  dnsKeptBytes: 4 * 1024 * 1024,
  dnsEntryBytes: 512,
  dnsPositiveMs: 60_000,
  dnsNegativeMs: 30_000,
  /** Mail is refused by what DNS says now; for so long by what it said to the last one that was. */
  dnsFreshMs: 1_000,
  /** MIME parts of one message that are looked at, how deep in one another, and the header of each. */
  mimeParts: 1000,
  mimeDepth: 30,
  partHeaderBytes: 16 * 1024,
  /** How deep in one another messages may be that are packed into a winmail.dat. */
  tnefDepth: 4,
  /** Bytes of all text parts of one message, as they came, that are decoded; the rest of them is in the raw alone. */
  textPartsBytes: 4 * 1024 * 1024,
  /** Of reports (bounces, complaints): the parts that are read, bytes of each, paragraphs, recipients, and characters of what was said of one. */
  reportParts: 10,
  reportPartBytes: 64 * 1024,
  reportParagraphs: 100,
  reportRecipients: 100,
  /** Of how many of them words are looked for, and how long a line before an address may be. */
  reportSpokenOf: 10,
  reportLineLength: 1000,
  reportTextLength: 1000,
  /** How long a recipient is not written to whose mailbox was full when a mail was given up. */
  fullMailboxSuppressedMs: 7 * 24 * 3_600_000,
  /**
   * Bytes of messages that the reading threads have at once, of small ones (those in memory) and of large ones; of one block
   * of addresses half as many. What a thread has is read before what waits, so of small ones it is little: others come to their turn soon.
   */
  readingSmallBytes: 2 * 1024 * 1024,
  readingLargeBytes: 96 * 1024 * 1024,
  /**
   * Bytes of text parts (of HTML no fewer than three a tag) up to which a message is read in the thread of its session: some
   * 10 ms in the worst shape, for which all sessions of that thread wait.
   */
  nearTextBytes: 32 * 1024,
  /**
   * The words of one message that it is found by, and the different ones among them: what stands after these (in the order of
   * sender, subject, recipients, body) is not found. They are one step of the index, some milliseconds.
   */
  messageWords: 20_000,
  messageDistinctWords: 4_000,
  /**
   * How often it is looked for what is to be put into the index; messages and bytes of texts of one batch, and its work, for which
   * writers wait; pages of the index that one step merges.
   */
  indexPollMs: 200,
  indexBatch: 256,
  indexBatchBytes: 1024 * 1024,
  /** How many a server puts into the index by one statement. */
  indexedAtOnce: 32,
  indexMs: 10,
  indexMergePages: 64,
  /** The newest messages that wait to be indexed and that lists have all the same. */
  indexWaiting: 1_000,
  /** For how long nothing is committed before the threads that follow what is are ended: 10 MB each. */
  storeThreadIdleMs: 30_000,
  /** What is read at once of a table that is moved to another database. */
  movedPageRows: 1_000,
  movedPageBytes: 4 * 1024 * 1024,
  /** How long a write waits for another program that writes to the database (451 4.3.0, 503 after that). */
  lockWaitMs: 10_000,
  /** How long after the begin of a transaction the next one begins, while the event loop is busy and writes come together. */
  commitRestMs: 4,
  /**
   * The write-ahead log of the database: how often it is moved into its file and the room on the disk looked at, the bytes of it after
   * which writers wait a moment so that it begins anew, after how long a silence its file is emptied, and how long it may
   * be longer until the operator is told.
   */
  storageLookMs: 500,
  logBytes: 64 * 1024 * 1024,
  logIdleMs: 5_000,
  logHeldMs: 10_000,
  /** How long an fsync of the log may take until its disk is told to hang, and who waits for it with an answer is told no. */
  syncMs: 5_000,
  /** How long those may take to be told no who wait for a disk that has failed. */
  diskFailedMs: 1_000,
  /** How long a message waits until it may be read (451 4.3.2 after that). */
  readingWaitMs: 60_000,
  /** After it, a reading thread that has nothing to do is ended, for what it grew to. */
  readingIdleMs: 30_000,
  /** What goes out and is made of no more bytes than these is a letter, which is made without a thread while few are sent. */
  renderedHereBytes: 16 * 1024,
  /** Letters that are made at once without a thread, and in it. */
  lettersHere: 4,
  lettersAtOnce: 32,
  /** What making one thing there may take: 25 MB on a machine that is busy with others. */
  renderingMs: 60_000,
  /** Threads for reading, where the setting does not say how many: one for each core, within these. */
  readingThreadsMin: 2,
  readingThreadsMax: 8,
  /**
   * The text of an attachment: characters that are kept, how many of them a message shows, for how many attachments of an
   * answer; of an archive (DOCX, XLSX, PPTX) the files that it may name, and bytes that are inflated of it; bytes that
   * reading one may allocate beside the heap.
   */
  attachmentTextLength: 500_000,
  /** Levels of XML inside one another, and attributes of an element: more than any office program writes. */
  markupDepth: 256,
  markupAttributes: 256,
  parsedTextLength: 4_000,
  parsedTexts: 100,
  archiveEntries: 10_000,
  archiveInflatedBytes: 64 * 1024 * 1024,
  attachmentAllocatedBytes: 256 * 1024 * 1024,
  /** Attachments that wait to be read, of one party half as many, and how long. */
  attachmentsWaiting: 100,
  attachmentWaitMs: 30_000,
  /** Messages of one thread that are shown; of a longer one the newest. */
  threadMessages: 1000,
  /** Message-IDs of In-Reply-To and References that are followed to find a thread. */
  references: 100,
  /** Characters of the References field of a message that we make; of a longer one the middle is left out. */
  referencesLength: 16 * 1024,
  /** Of a CA (ACME): one answer, how long it may take, and how often a nonce that it refuses is replaced. */
  acmeAnswerBytes: 256 * 1024,
  acmeAnswerMs: 30_000,
  acmeNonceRetries: 30,
  /** One order of a certificate from its begin to its end, and how often it is asked meanwhile how it stands. */
  acmeOrderMs: 600_000,
  acmePollMs: 1_000,
  acmePollMaxMs: 60_000,
  /** The gaps after failed orders, until the last for as long as it takes; and the longest that a CA may ask for. */
  acmeGapsMs: [600_000, 3_600_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000],
  /** Where a name had no address, it is looked so often whether it has one, and it ends the gap after so many failures (Let's Encrypt: five an hour). */
  acmeAddressMs: 30_000,
  acmeEarlyOrders: 3,
  acmeRetryAfterMs: 7 * 86_400_000,
  /** How often it is looked whether a certificate is due. */
  acmeLookMs: 600_000,
  /**
   * Who asks for the answer to a challenge: connections at once, and how long one may take; how long it rests between two looks for those of
   * other nodes, and for how long they are kept.
   */
  acmeConnections: 100,
  acmeConnectionMs: 10_000,
  acmeAnswerRestMs: 50,
  acmeChallengeMs: 86_400_000,
  /** Failed authentications a minute of one address (of IPv6, one /64), at all doors that take keys; and of its block at the doors of submission. */
  failedKeysPerMinute: 60,
  failedKeysPerMinuteOfBlock: 300,
  /** The text of a key, and of an address, that is looked up. */
  tokenLength: 200,
  addressLength: 320,
  /** How long mail that was submitted waits until its sender is told; what comes back whole in a notice; ENVID and ORCPT (RFC 3461 §4.2, §4.4). */
  delayNoticeMs: 4 * 3_600_000,
  /** How long what is to be told of a message waits for what becomes of its other recipients, after the last notice of it, and after a fault or a refusal. */
  noticeGatherMs: 60_000,
  noticeGapMs: 600_000,
  noticePutOffMs: 3_600_000,
  /** After how long it is not told any more. */
  noticeGivenUpMs: 5 * 86_400_000,
  returnedBytes: 1024 * 1024,
  envelopeIdLength: 100,
  originalRecipientLength: 500,
  /** Holds of the operator by inbox, pod or domain. */
  standingHolds: 100,
  smtpCommandBytes: 4096,
  /** A file with a certificate and its chain, or with a key; and how often it is looked whether it changed. */
  pemBytes: 256 * 1024,
  certificatePollMs: 60_000,
  /** How long a peer of the SMTP door may say nothing between two commands (RFC 5321 §4.5.3.2.7). */
  smtpIdlePeerMs: 300_000,
  /**
   * While all connections are taken, who has not come nearer to a message for so long gives his up: by a command, or by so many bytes of
   * it; and how often that is looked for.
   */
  smtpQuietMs: 10_000,
  smtpQuietBytes: 16 * 1024,
  smtpRoomMs: 1_000,
  /** Then, too, who for so long has come no further than to commands: a recipient every few seconds costs nothing. */
  smtpWordsMs: 30_000,
  /** Then, too, who after so long has brought less of his message a second, and who is here for so long (lib/smtpd/give-way.ts). */
  smtpSlowMs: 20_000,
  smtpSlowBytes: 16 * 1024,
  smtpLongMs: 120_000,
  /** Of all places the share that is asked for at a time where nobody is idle. */
  smtpRoomShare: 0.01,
  /** Refused commands of an SMTP session after which it is ended (421), and recipients among them that are not here. */
  smtpRefusals: 50,
  smtpUnknownRecipients: 25,
  /** Commands of an SMTP session until its first message and between two; its messages (421 above either). */
  smtpCommands: 1_200,
  smtpMessages: 1_000,
  /** Threads that hold SMTP sessions, where the setting does not say how many: one for each core, up to this. */
  smtpThreadsMax: 8,
  /** Memory for objects of one such thread; the bytes of messages are not among them. */
  smtpThreadHeapBytes: 512 * 1024 * 1024,
  /** How long one of them may stand still before it is ended; one small message takes milliseconds. */
  smtpThreadStillMs: 10_000,
  /** For how long after a start no timed sweep begins; the shortest is done each minute. */
  upkeepAfterMs: 10_000,
  /** How often is looked whether nothing is done, so that what was needed for work is given back. */
  idleHeapLookMs: 10_000,
  /** After so many such looks it is done again: threads that a burst had started have ended, and what is done each hour has left something. */
  idleHeapAgainLooks: 6,
  /** Sessions that each of them has before another one starts: it costs 20 MB and a fifth of a second of a processor. */
  smtpThreadSessions: 4,
  /** After so long without a connection all of them are ended, and how often that is looked at in this time. */
  smtpThreadIdleMs: 120_000,
  smtpThreadLooks: 4,
  /** When one that could not start is started again. */
  smtpThreadRestartMs: 10_000,
  /** Peers of whom it is remembered that a message of theirs ended such a thread; the first one makes room. */
  smtpSuspects: 1_000,
  /** Messages that one scanner is given at once; the others wait their turn. What is read of its answer. */
  scansAtOnce: 8,
  scannerAnswerBytes: 1024 * 1024,
  /** What DNS lists may take to answer about a peer, and how long the test of one is believed. */
  dnsListMs: 3_000,
  dnsListTestMs: 600_000,
  /**
   * Greylisting: how long one that was put off may take to come again, how long of that it keeps its place where others of its
   * block need it, and after how many a block of addresses is known.
   */
  greylistRetryMs: 86_400_000,
  greylistYieldMs: 7_200_000,
  greylistPasses: 5,
  /** How often the log says what strangers make happen again and again. */
  tallyMs: 60_000,
  /** Of the log, what is kept in memory while nobody reads it; how often it is tried again then, and for how long at the end of the process. */
  logWaitingBytes: 1024 * 1024,
  logRetryMs: 50,
  logFlushMs: 1_000,
  /** A configuration file. */
  configBytes: 256 * 1024,
  dnsTimeoutMs: 5_000,
  /** For how long an answer of DNS holds for the next mail to the same destination, and how many are kept. */
  dnsSharedMs: 1_000,
  dnsSharedEntries: 200,
  /** Questions in a row without an answer, and the time since the first of them, after which it is said that DNS does not answer. */
  dnsSilent: 5,
  dnsSilentMs: 10_000,
  /** MX hosts that one attempt tries, addresses of each, and servers that say "not now" before the attempt ends. */
  mxHosts: 10,
  mxAddresses: 4,
  mxDeferrals: 5,
  /**
   * What we wait for a peer, with the times of RFC 5321 §4.5.3.2, but for the greeting: a host that takes longer is tried again.
   * After `reset` (RSET between two messages) and `quit` the connection is ended, whatever comes meanwhile. `total` bounds one
   * attempt over all hosts. While other mail waits, a first attempt waits for `firstGreeting` until it is greeted, and
   * otherwise any attempt for `silent` for each reply.
   */
  smtpClientTimeouts: {
    connectMs: 60_000,
    greetingMs: 60_000,
    commandMs: 300_000,
    dataBlockMs: 180_000,
    finalReplyMs: 600_000,
    resetMs: 5_000,
    quitMs: 2_000,
    totalMs: 1_800_000,
    firstGreetingMs: 2_000,
    silentMs: 10_000,
  },
  /** One reply of a peer with all its lines, in bytes; a longer one is not read on. */
  smtpReplyBytes: 16 * 1024,
  /** Connections kept for the next message: how long, how many in all and to one address; messages of each. */
  smtpIdleMs: 5_000,
  smtpIdleSessions: 100,
  smtpIdleSessionsPerAddress: 20,
  /** Connections that wait for the answer to RSET or QUIT, in all and to one address; those above it are ended without a word. */
  smtpPartingSessions: 100,
  smtpPartingSessionsPerAddress: 20,
  smtpMessagesPerSession: 100,
  /** Records of one answer of DNS that are read, and certificates of one chain. */
  dnsRecords: 64,
  tlsChain: 10,
  /** Where STARTTLS failed: how long it is not tried again unless a policy demands it. */
  tlsBrokenMs: 3_600_000,
  /** TLS sessions that can be taken up again: how many, how long, bytes of one. */
  tlsSessions: 1_000,
  tlsSessionMs: 3_600_000,
  tlsSessionBytes: 16 * 1024,
  /**
   * MTA-STS (RFC 8461): bytes of a policy, names in it, what fetching one may take; how soon what could not be fetched is
   * asked for again, and after how long what was is.
   */
  stsPolicyBytes: 64 * 1024,
  stsPolicyMx: 100,
  stsFetchMs: 60_000,
  stsConnectMs: 10_000,
  /** So many are fetched at once, of which a pod has at most three times as many as it leaves free; how long a turn is waited for. */
  stsFetches: 40,
  stsWaitMs: 60_000,
  stsRetryMs: 300_000,
  stsRefreshMs: 86_400_000,
  /** TLS reports (RFC 8460): rows of one day and domain, how long they are kept; addresses that one report goes to, and reports that are made at once. */
  tlsResultRows: 100,
  tlsResultDays: 30,
  tlsReportAddresses: 5,
  /** A domain may name anybody for its reports: how many go to one address a day, and to all addresses of one domain, whoever names them. */
  tlsReportsToAddress: 10,
  tlsReportsToDomain: 100,
  tlsReportsAtOnce: 20,
  /** The file of a smarthost's password. */
  passwordBytes: 4096,
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
  /** What a claim reads where many entries are due: entries of all, pods, and entries of a pod, past those for destinations that are full. */
  queueFew: 64,
  podsAtOnce: 16,
  queueWindow: 2_000,
  /** Entries for one destination that one statement defers or releases, and destinations that one write releases. */
  queueMoved: 1_000,
  destinationsReleased: 100,
  /** How long after a probe of a destination that fails began the next one may begin. */
  probeAgainMs: 120_000,
  /** How often in a row an address has not answered when one connection at a time is tried there, and how long the one is waited for. */
  destinationFailures: 3,
  probeOverMs: 1_800_000,
  /** How long after that an address that does not answer is tried again, and at most, as it gets longer each time. */
  addressProbeMs: 30_000,
  addressProbeMaxMs: 120_000,
  /** How soon mail is tried again that could not be tried because our own DNS resolver did not answer. */
  resolverAgainMs: 25_000,
  /** How soon mail is tried again whose first attempt found nobody there, at most: most such faults last seconds. */
  unansweredAgainMs: 22_000,
  /** How long a destination that failed and was not tried since is kept; and of how many memory knows what they are. */
  destinationKeptMs: 7 * 86_400_000,
  destinationsKnown: 10_000,
  /** How many attempts at once a destination gets of which nothing is known (Postfix begins with as many). */
  paceFirst: 5,
  /** By how much a destination that has less at once than it may gets more with each attempt that it answers. */
  paceStep: 0.25,
  /** Of how many inboxes and pods memory knows whose turn it is. */
  partiesKnown: 10_000,
  /** How long an attempt waits for a connection to an address that has as many as it gets, and how soon it is tried again. */
  addressWaitMs: 1_000,
  addressFullMs: 5_000,
  /** How often it is looked whether other mail waits for a server that stays silent. */
  silenceLookMs: 250,
  /** How soon mail is tried again whose first attempt the server was too slow for (`smtpClientTimeouts`). */
  tooSlowAgainMs: 2_000,
  /** How long an attempt waits that a crash or a stop cut off for the second time or more. */
  cutOffWaitMs: 60_000,
  /** How long a claimed queue entry is its holder's; longer than any attempt may take. */
  leaseMs: 3_600_000,
  /** How long a runner of the queue rests after a look, so that what comes and ends meanwhile is looked at together. */
  queueRestMs: 5,
  /** How often the queue looks for work that another process put. */
  queuePollMs: 1_000,
  /** What a process may take to stop, before it is stopped (SIGTERM). */
  stopMs: 10_000,
  /** How much of that is left to peers and clients in the middle of something, and to what is carried. */
  stopPeersMs: 3_000,
  /** How long a client that connected just before may take to ask something (503), until it is cut off. */
  stopUnaskedMs: 500,
  stopCarriedMs: 6_000,
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
  /** HTML elements that are kept as elements; of what comes after them only the text: each costs much more than its bytes. */
  htmlElements: 5_000,
  /** Elements and pieces of text (an entity is one) of HTML that are looked at; what comes after them is left out. */
  htmlPieces: 50_000,
  /** Quotes and lists inside one another: each makes every line of its text longer. */
  htmlIndents: 20,
  /** Open elements at which the reading of HTML starts afresh: its parser is quadratic in them. */
  htmlOpenElements: 500,
  /** Secrets of the database (of domains and webhooks) that are kept opened. */
  secretsOpened: 2000,
  /** Signing keys (one a domain) that are kept parsed. */
  dkimKeysParsed: 1000,
  /** Bytes of an attachment that are encoded at a stretch. */
  composeSliceBytes: 256 * 1024,
  /**
   * A JSON body: levels inside one another, names and values in all, its bytes besides the contents of attachments, and
   * from how many bytes on such a content is taken out before the rest is parsed.
   */
  jsonDepth: 32,
  jsonValues: 20_000,
  jsonTextBytes: 4 * 1024 * 1024,
  jsonContentBytes: 4 * 1024,
  /**
   * Answers that are not read: bytes that must be read in `http.write_timeout`, what may wait in all until the largest are
   * cut off, and how often one looks.
   */
  answerBytesPerTimeout: 64 * 1024,
  answersBytes: 256 * 1024 * 1024,
  answersWatchMs: 500,
  /** What a large answer is assumed to need before it is made. */
  largeAnswerBytes: 4 * 1024 * 1024,
  /**
   * The memory of request bodies, large answers and replayed events: of all together, and of one key (or of one address without a key). How
   * long an answer waits for memory, and after what time one may be cut off that is not read, or a body that is still arriving.
   */
  httpBytes: 512 * 1024 * 1024,
  httpBytesPerKey: 128 * 1024 * 1024,
  httpBytesWaitMs: 10_000,
  /** Requests that may wait on one connection until the answers before them have left; one more ends it. */
  pipelinedRequests: 250,
  /** How long a connection over the limits may take to ask and to get the refusal as its answer. */
  refusedConnectionMs: 2_000,
  /** What is read on of a body that was answered already, so that its client comes to read the answer. Then it is cut off. */
  lingerBytes: 64 * 1024 * 1024,
  lingerMs: 30_000,
  /** How often the time limits of requests are looked at. */
  requestsWatchMs: 1_000,
  /** What a body that holds memory must bring, and in which time: a slower one keeps it from others. */
  bodyLeastBytes: 64 * 1024,
  bodyLeastMs: 10_000,
  /** /metrics: how far what waits is counted, how long an answer is given again, how long one who asks may take, and how many there are. */
  loadCounted: 10_000,
  metricsKeptMs: 1_000,
  metricsRequestMs: 10_000,
  metricsConnections: 20,
  /** Bytes of work after which a long computation lets others have the event loop, and until which a short one does not. */
  sliceBytes: 1024 * 1024,
  unpacedBytes: 256 * 1024,
} as const
