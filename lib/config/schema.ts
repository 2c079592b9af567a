import Type from 'typebox'
import { categories } from '../base/ids.ts'
import type { LogLevel } from '../base/log.ts'
import { acmeTable, tlsTable } from './certificate-tables.ts'
import { deliveryTable } from './delivery-table.ts'
import { httpTable } from './http-table.ts'
import { limitsTable, sendingTable, storageTable } from './limits-table.ts'
import { planTable } from './plan-table.ts'
import { s3Table } from './s3-table.ts'
import { dnsListsTable, greylistTable, scannerTable } from './screening.ts'
import { duration, flag, list, number, table, tableList, text } from './setting.ts'
import { shareSettings } from './smtp-shares.ts'

/** How long messages are kept. */
const retentionTable = table('How long messages are kept.', {
  rule: tableList(
    {
      examples: [{ category: 'spam', keep_for: '30d' }],
      description:
        'Rules by which messages are deleted for good when they are older than keep_for. One table for each; of those that mean a message the first one counts, and what none means is kept. What is still on its way out is kept, too. Looked at every hour; "mailboxctl message purge" does the same at once.',
    },
    {
      keep_for: Type.Optional(
        Type.String({
          format: 'duration',
          between: ['1h', '36500d'],
          examples: ['30d'],
          description: 'How long. Without it, for ever: an exception from the rules after this one.',
        }),
      ),
      inbox: Type.Optional(
        text('address', { examples: ['ann@example.com'], description: 'Messages of this inbox alone.' }),
      ),
      pod: Type.Optional(
        text('name', {
          examples: ['customer-7'],
          description: 'Messages of this pod alone, by its id or clientId.',
        }),
      ),
      category: Type.Optional(
        Type.Enum(categories, { examples: ['spam'], description: 'Messages of this category alone.' }),
      ),
    },
  ),
})

/** By which keys domains here sign. */
const dkimTable = table('The keys that mail of domains here is signed by.', {
  rotate_every: Type.Optional(
    Type.String({
      format: 'duration',
      between: ['7d', '3650d'],
      examples: ['180d'],
      description:
        'How long a domain signs by the same key. Then new ones are made and shown among its records; each is used as soon as it is found in DNS. Without it, only mailboxctl domain rotate-key does that.',
    }),
  ),
})

/** What domains here ask of those who send to them. */
const mtaStsTable = table(
  'The MTA-STS policy of domains here (RFC 8461): by it others send their mail only encrypted, and only to this server. It is served at https://mta-sts.<domain>/.well-known/mta-sts.txt by the HTTP door, for whose certificate the proxy before it cares.',
  {
    mode: Type.Enum(['off', 'testing', 'enforce'], {
      default: 'off',
      description:
        'With "testing" others report what would have failed, with "enforce" they do not send it. The records for it are listed with those of each domain. This server must prove its hostname by a certificate that others believe.',
    }),
    max_age: duration(['1d', '365d'], {
      default: '7d',
      description: 'How long others keep the policy. To end it, set the mode to "testing" for so long first.',
    }),
  },
)

/** How messages that come in are read (lib/reading). */
const readingTable = table(
  'How messages that come in are read: in threads, so that none of them holds up or harms the rest.',
  {
    threads: number({
      default: 0,
      minimum: 0,
      maximum: 64,
      unit: 'threads',
      description:
        'The most threads that read messages; half of them are for those above 256 KiB. They start when they are needed. 0: one for each core, at least 2 and at most 8.',
    }),
    timeout: duration(['10ms', '10m'], {
      default: '10s',
      description:
        'How long the reading of one message may take. One that takes longer, or more memory than it may, is stored, marked with parseProblems, and shown with what its header says.',
    }),
    memory: number({
      default: 192 * 1024 * 1024,
      minimum: 32 * 1024 * 1024,
      maximum: 4 * 1024 * 1024 * 1024,
      unit: 'bytes',
      description: 'The memory that one thread may use for what it makes of messages, besides their bytes.',
    }),
  },
)

/** How the server of `database` is reached. */
const postgresTable = table('How the PostgreSQL server of database is reached.', {
  password_file: Type.Optional(
    text('path', {
      examples: ['/etc/mailboxd/postgres.password'],
      description:
        'The file with the password of the user in its first line, which the user of the daemon may read (mode 0640, group mailboxd); it is read at the start, and by mailboxctl also while the daemon is stopped. Without it, what the server asks for beside a password: a certificate, or the user of the socket.',
    }),
  ),
  connections: number({
    default: 10,
    minimum: 2,
    maximum: 100,
    unit: 'connections',
    description:
      'How many connections the daemon opens. Each thread that takes mail in opens two more, the one of the search index two, one hears what other nodes say, and one keeps others from starting beside it.',
  }),
})

/** The doors of those who send by SMTP. */
const submissionTable = table(
  'The doors at which clients that know SMTP alone hand mail over to be sent: the user is the address of an inbox, the password an API key that may send from it. The sizes, times and shares of [smtp] count here, too.',
  {
    listen: list('listener', 0, {
      default: [],
      local: ['127.0.0.1:2587'],
      description:
        'The addresses and ports of submission with STARTTLS (RFC 6409), such as "0.0.0.0:587" and "[::]:587". Nobody is let in without it.',
    }),
    listen_tls: list('listener', 0, {
      default: [],
      description: 'The same with TLS from the first byte (RFC 8314), such as "0.0.0.0:465" and "[::]:465".',
    }),
  },
)

const planNames = ['free', 'developer', 'pro'] as const

const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const satisfies LogLevel[]

/**
 * Every setting, declared once: from here come the type `Config`, the validation, `mailboxctl config describe`
 * and the example file. Names are those of the TOML file; durations stay text (see `durationMs`), and so do
 * addresses with a port (see `parseEndpoint`).
 */
export const settings = Type.Object(
  {
    hostname: text('domain', {
      local: 'mailboxd.localhost',
      examples: ['mail.example.com'],
      description:
        "This server's own name: in its greeting, in EHLO and in Received. It should resolve to this machine's address, and that address back to it (PTR), or others refuse mail from here.",
    }),
    account_domain: text('domain', {
      local: 'mailboxd.localhost',
      examples: ['example.com'],
      description: 'The mail domain that an inbox gets when it is made without a domain.',
    }),
    data_dir: text('path', {
      default: '/var/lib/mailboxd',
      local: './mailboxd-data',
      description: 'The directory of the database, large messages and keys. Back up this one directory.',
    }),
    database: Type.Optional(
      text('postgres-url', {
        examples: ['postgres://mailboxd@db.example.com/mailboxd?sslmode=verify-full'],
        description:
          'The PostgreSQL server that keeps all rows, in place of the SQLite file in data_dir. The database must be there, in UTF-8, and the user its owner. Several daemons may work on it (docs/operators/nodes.md). The table postgres says the rest.',
      }),
    ),
    blobs: Type.Optional(
      text('bucket', {
        examples: ['s3://mail-of-example/mail.example.com'],
        description:
          'The bucket for messages above 256 KiB, if the disk of data_dir is not to hold them: "s3://bucket/prefix". Installations that share a bucket need different prefixes. Smaller messages, and everything else, stay in the database. Files that are in data_dir already are found there. The table s3 says how the bucket is reached.',
      }),
    ),
    min_free: number({
      default: 100 * 1024 * 1024,
      minimum: 0,
      maximum: 2 ** 40,
      unit: 'bytes',
      description:
        'What must be free on the disk of data_dir. Below it mail is deferred (452 4.3.1), and the API stores nothing new (503).',
    }),
    base_url: Type.Optional(
      text('base-url', {
        examples: ['https://mail.example.com'],
        description:
          'Where clients reach the API, without a slash at the end; the signed addresses of attachments begin with it. Without it, http and the first address of http.listen.',
      }),
    ),
    plan: Type.Enum(planNames, {
      default: 'pro',
      description:
        'The plan of this installation: which of the tables plan_free, plan_developer and plan_pro is in force. "pro" has no limits unless you set some.',
    }),
    operator_address: Type.Optional(
      text('address', {
        examples: ['ops@example.net'],
        description:
          'Where mail to postmaster and abuse of every domain here is forwarded to, an address of another server. It stands in the inbox of postmaster all the same, and there alone without this.',
      }),
    ),
    log: table('What is written to standard error.', {
      level: Type.Enum(logLevels, {
        default: 'info',
        description: 'The least serious kind of entry that is written.',
      }),
      format: Type.Enum(['auto', 'json', 'text'], {
        default: 'auto',
        description:
          'How: "json" is one object a line, "text" is for people, and "auto" is text on a terminal and JSON elsewhere. To the journal each line is given its level.',
      }),
    }),
    smtp: table('The door that mail comes in by.', {
      listen: list('listener', 1, {
        default: ['0.0.0.0:25', '[::]:25'],
        local: ['127.0.0.1:2525'],
        description: 'The addresses and ports to listen on.',
      }),
      max_size: number({
        default: 25 * 1024 * 1024,
        minimum: 64 * 1024,
        maximum: 100 * 1024 * 1024,
        unit: 'bytes',
        description: 'The largest message that is accepted (552 5.3.4 above it).',
      }),
      max_recipients: number({
        default: 100,
        minimum: 1,
        maximum: 1000,
        unit: 'recipients',
        description:
          'The most recipients of one message (452 4.5.3 above it, and the sender sends the rest again). RFC 5321 asks for at least 100.',
      }),
      threads: number({
        default: 0,
        minimum: 0,
        maximum: 64,
        unit: 'threads',
        description:
          'How many threads hold the SMTP sessions and read their small messages. 0: one for each core, at most 8. With 1, and where Node is too old to hand a connection over, the main thread holds them.',
      }),
      max_connections: number({
        default: 500,
        minimum: 1,
        maximum: 10_000,
        unit: 'connections',
        description: 'The most connections at one time (421 above it).',
      }),
      max_connections_per_address: number({
        default: 50,
        local: 500,
        minimum: 1,
        maximum: 10_000,
        unit: 'connections',
        description: 'The most connections at one time from one address, or one /64 of IPv6 (421 above it).',
      }),
      ...shareSettings,
      session_timeout: duration(['1s', '1d'], {
        default: '30m',
        description: 'The longest that one session may last altogether.',
      }),
      data_timeout: duration(['1s', '1d'], {
        default: '15m',
        description: 'The longest that the bytes of one message may take to arrive.',
      }),
    }),
    submission: submissionTable,
    tls: tlsTable,
    acme: acmeTable,
    reading: readingTable,
    http: httpTable,
    dns: table('How names are looked up.', {
      servers: list('server', 0, {
        default: [],
        description: 'The DNS servers to ask, such as "127.0.0.1:53". Empty: the system\'s.',
      }),
      validating_server: Type.Optional(
        text('server', {
          examples: ['127.0.0.1:53'],
          description:
            'A DNS resolver on this machine that validates DNSSEC, such as Unbound. With it, mail is sent by DANE (RFC 7672): a domain whose records are signed says in them which certificates its servers have, and mail to it goes to no other. Its word is taken, so it must be at a loopback address.',
        }),
      ),
    }),
    delivery: deliveryTable,
    metrics: table('Figures for a monitor, in the text format of Prometheus.', {
      listen: list('listener', 0, {
        default: [],
        examples: ['127.0.0.1:9464'],
        description:
          'Where GET /metrics is answered, such as "127.0.0.1:9464". Whoever reaches it may read it: keep it to this machine or to a network of yours. Empty: nowhere.',
      }),
    }),
    dkim: dkimTable,
    mta_sts: mtaStsTable,
    webhook: table('How webhooks are called.', {
      retry: list('duration', 0, {
        default: ['5s', '30s', '1m', '2m', '5m', '15m', '30m', '1h'],
        description:
          'How long after each failed call the next one comes, give or take 10 %. After the last of them the event has failed; it is kept and can be sent again.',
      }),
      timeout: duration(['1s', '60s'], {
        default: '15s',
        description: 'How long one call may take, from looking up the name to the answer.',
      }),
      concurrency: number({
        default: 500,
        minimum: 1,
        maximum: 10_000,
        unit: 'calls',
        description: 'The most calls under way at one time.',
      }),
      concurrency_per_endpoint: number({
        default: 20,
        minimum: 1,
        maximum: 1000,
        unit: 'calls',
        description:
          'The most calls under way at one time to one webhook; to one that has failed again and again it is one.',
      }),
      allow_http: flag({
        default: false,
        local: true,
        description:
          'Whether a webhook may be plain http. Without TLS anyone between can read the mail in it.',
      }),
      allow_networks: list('network', 0, {
        default: [],
        local: ['127.0.0.0/8', '::1/128'],
        description:
          'Networks that webhooks may be in although they are not public, such as "127.0.0.0/8" for programs on this machine. All other loopback, private and reserved addresses are refused.',
      }),
    }),
    events: table('What is kept and told of what happened.', {
      keep_for: duration(['1d', '3650d'], {
        default: '30d',
        description: 'How long events, and the log of what webhooks answered, are kept.',
      }),
      prefer_websocket: flag({
        default: false,
        description:
          'Whether a webhook is left uncalled when a stream (WebSocket or Server-Sent Events) that takes the event is open.',
      }),
    }),
    retention: retentionTable,
    idempotency: table('Repeats of a send.', {
      required: flag({
        default: true,
        description:
          'Whether a send without an Idempotency-Key header is refused (400 missing_idempotency_key).',
      }),
    }),
    policy: table('Sender rules: who may write to an inbox, and to whom it may write.', {
      refuse_with: Type.Enum(['drop', 'reject'], {
        default: 'drop',
        description:
          'What happens to mail that the rules of none of its recipients let in. With "drop" it is answered 250 and thrown away, so that its sender learns nothing; with "reject" it is answered 550 5.7.1.',
      }),
      require_authenticated_sender: flag({
        default: true,
        local: false,
        description:
          'Whether an allow rule lets mail in only when its From is proven by DMARC, or by an aligned SPF or DKIM. Anyone can write any From.',
      }),
    }),
    keys: table('API keys.', {
      prefix: text('key-prefix', {
        default: 'mbx_',
        description:
          'What the tokens of new keys begin with, for clients that insist on a prefix of theirs. Keys that are there already stay good.',
      }),
    }),
    limits: limitsTable,
    sending: sendingTable,
    storage: storageTable,
    plan_free: planTable('free', {
      inboxes: 3,
      messages: 0,
      coldAtFirst: 20,
      cold: 200,
      externalReplyTo: false,
    }),
    plan_developer: planTable('developer', {
      inboxes: 25,
      messages: 0,
      coldAtFirst: 20,
      cold: 200,
      externalReplyTo: true,
    }),
    plan_pro: planTable('pro', { inboxes: 0, messages: 0, coldAtFirst: 0, cold: 0, externalReplyTo: true }),
    authentication: table('SPF, DKIM and DMARC of mail that comes in.', {
      check: flag({
        default: true,
        local: false,
        description: 'Whether they are checked. Local mode does not: what is sent on loopback has no DNS.',
      }),
      dmarc_reject: Type.Enum(['refuse', 'mark', 'off'], {
        default: 'refuse',
        description:
          'What happens to mail that fails DMARC when the domain in From asks that it be rejected (p=reject). With "refuse" it is answered 550 5.7.26; with "mark" it is taken, and its verdict is spam, as with p=quarantine. With "off" no failure of DMARC counts.',
      }),
      trusted_arc_sealers: list('domain', 0, {
        default: [],
        description:
          'The domains (d=) of hosts that pass mail on, such as mailing lists, and whose word is taken for what they found when it came to them: an unbroken ARC chain, made last by one of them, excuses a failure of DMARC. Sender rules are not excused.',
      }),
    }),
    greylist: greylistTable,
    dns_lists: dnsListsTable,
    scanner: scannerTable,
    postgres: postgresTable,
    s3: s3Table,
  },
  { additionalProperties: false },
)

type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The settings in force, frozen. Its names are those of the TOML file. */
export type Config = DeepReadonly<Type.Static<typeof settings>>
