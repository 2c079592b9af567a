/** Counts what happens, for /metrics. It costs little, and where nobody asks, nothing. */
export interface Meter {
  /** One more of these. */
  count<Name extends CounterName>(name: Name, ...labels: LabelsOf<Name>): void
  /** A value of a histogram. */
  observe<Name extends HistogramName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  /** Takes over what another thread has counted. */
  add(noted: readonly Noted[]): void
}

/** Where metrics are off. */
export const noMeter: Meter = { count() {}, observe() {}, add() {} }

/** What was counted in another thread, on its way to the one that is asked: so many of a counter, or the value of a histogram. */
export type Noted =
  | { readonly count: CounterName; readonly labels: readonly string[]; readonly by: number }
  | { readonly observe: HistogramName; readonly labels: readonly string[]; readonly value: number }

/** How long a thread gathers what it counts, and how much of it at the most. */
const gatherMs = 500
const gatherMost = 2000

/**
 * Counts for a thread that is asked by nobody.
 * @param post brings what was counted over to the one that is, twice a second at the most unless it is much
 */
export function createDistantMeter(post: (noted: readonly Noted[]) => void): Meter {
  let counts = new Map<string, { count: CounterName; labels: readonly string[]; by: number }>()
  let values: Noted[] = []
  let timer: NodeJS.Timeout | undefined

  function send(): void {
    clearTimeout(timer)
    timer = undefined
    const noted = [...counts.values(), ...values]
    counts = new Map()
    values = []
    post(noted)
  }

  function gathered(): void {
    if (counts.size + values.length >= gatherMost) send()
    else timer ??= setTimeout(send, gatherMs).unref()
  }

  return {
    count(name, ...labels) {
      const key = [name, ...labels].join(' ')
      const known = counts.get(key)
      if (known) known.by++
      else counts.set(key, { count: name, labels, by: 1 })
      gathered()
    },
    observe(name, value, ...labels) {
      values.push({ observe: name, labels, value })
      gathered()
    },
    // Nothing counts further in.
    add() {},
  }
}

/** What a metric is: counters only grow, gauges are set, histograms count values by their size. */
interface Measure {
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** What it says, in a sentence. */
  readonly help: string
  readonly labels: readonly string[]
  /** The upper bounds of a histogram's classes. */
  readonly buckets?: readonly number[]
}

const seconds = [0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60] as const
const fineSeconds = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 1] as const
const kibibyte = 1024
const sizes = [4, 16, 64, 256, 1024, 4096, 16_384, 65_536].map(size => size * kibibyte)

const counter = <const Labels extends readonly string[]>(help: string, ...labels: Labels) =>
  ({ kind: 'counter', help, labels }) as const
const gauge = <const Labels extends readonly string[]>(help: string, ...labels: Labels) =>
  ({ kind: 'gauge', help, labels }) as const
const histogram = <const Labels extends readonly string[]>(
  help: string,
  buckets: readonly number[],
  ...labels: Labels
) => ({ kind: 'histogram', help, labels, buckets }) as const

/**
 * Every metric, declared once; `mailboxd_` stands before each name outside. What a label says is a word of ours: never what a
 * stranger wrote, and never whose it is.
 */
export const measures = {
  build_info: gauge('Always 1; its labels say what runs.', 'version', 'node'),
  smtp_connections_total: counter(
    'Connections to the SMTP door: accepted, or turned away because of the rate of their address or block, of the connections that these have open, or of all.',
    'outcome',
  ),
  smtp_sessions: gauge('SMTP sessions that are open.'),
  smtp_refusals_total: counter(
    'Replies of 400 and above that SMTP clients were given, by code and enhanced code.',
    'code',
    'enhanced',
  ),
  messages_received_total: counter(
    'Messages that came by SMTP and were answered 250, by verdict and category. The verdict is "dropped" where sender rules let it into no inbox.',
    'verdict',
    'category',
  ),
  messages_received_tls_total: counter('The same messages by the TLS version of their session.', 'tls'),
  message_received_bytes: histogram('How large the messages were that came by SMTP.', sizes),
  message_receive_seconds: histogram(
    'From the end of DATA to its reply, of messages that were answered 250.',
    seconds,
  ),
  reading_jobs_total: counter(
    'Messages that threads of their own read (large ones, and what came with suspicion): read, or refused because too much waited.',
    'outcome',
  ),
  reading_wait_seconds: histogram(
    'How long a message waited for such a thread, and was read there.',
    seconds,
  ),
  reading_deaths_total: counter('Threads that ended while they read messages, or were late.'),
  reading_under_way: gauge('Messages that such threads have, or that wait for them.'),
  smtp_thread_deaths_total: counter('Threads of SMTP sessions that ended by themselves or stood still.'),
  scans_total: counter(
    'Messages that a scanner (clamav, rspamd) was to look into, by outcome: clean, found, late, failed, or too_large.',
    'scanner',
    'outcome',
  ),
  scan_seconds: histogram('How long a scan took, waiting for its turn included.', seconds, 'scanner'),
  dns_list_answers_total: counter(
    'What DNS lists said of peers, by zone: listed, unlisted, or unknown (not believed, or no answer in time).',
    'zone',
    'outcome',
  ),
  greylist_total: counter(
    'Senders that greylisting looked at: known before, deferred (451 4.7.1), or passed because they came again.',
    'outcome',
  ),
  messages_queued_total: counter('Messages that were sent by the API and queued.'),
  delivery_attempts_total: counter(
    'Attempts to deliver, by result, by what a refusal is about (config/replies.txt), and by way: smtp, local (an inbox here) or capture.',
    'result',
    'class',
    'via',
  ),
  delivery_attempt_seconds: histogram('How long attempts by SMTP took.', seconds, 'result'),
  delivery_tls_total: counter('Attempts by SMTP that a server answered, by the TLS version.', 'tls'),
  delivered_seconds: histogram(
    'From when a delivery was queued until it was delivered.',
    [0.1, 0.5, 2.5, 10, 60, 600, 3600, 86_400],
  ),
  webhook_calls_total: counter('Calls of webhooks by result; gone is 410.', 'result'),
  webhook_call_seconds: histogram('How long calls of webhooks took.', seconds),
  queue_entries: gauge(
    'What waits in the queue, by kind (delivery, draft, webhook) and state, counted up to 10,000 of each.',
    'kind',
    'state',
  ),
  queue_lateness_seconds: gauge(
    'For how long the entry that is due longest is due and not begun; 0 where nothing is due.',
    'kind',
  ),
  queue_oldest_seconds: gauge('How old the oldest entry of the queue is.'),
  http_requests_total: counter(
    'Requests by operation of the API ("none": a page, or nothing) and status.',
    'operation',
    'status',
  ),
  http_request_seconds: histogram(
    'How long requests took until their answer was ready, by operation. Waits and streams take as long as they are asked to.',
    seconds,
    'operation',
  ),
  http_problems_total: counter('Requests that were refused, by error code.', 'error'),
  http_answers_refused_total: counter(
    'Large answers refused for lack of memory, because others were not read yet.',
  ),
  http_memory_bytes: gauge('Bytes that request bodies and large answers hold until they are read.'),
  http_connections: gauge('Connections to the HTTP door that are open.'),
  event_streams: gauge('Streams of events that are open.'),
  waits: gauge('Requests that wait for mail.'),
  bucket_requests_total: counter(
    'Requests to the bucket of large messages, by method and outcome (done, failed); one that was made again counts once.',
    'method',
    'outcome',
  ),
  store_batch_writes: histogram('Writes that shared one transaction.', [1, 2, 4, 8, 16, 32, 64]),
  store_transaction_seconds: histogram(
    'How long transactions of the writer took, with their commit and without the disk.',
    fineSeconds,
  ),
  store_sync_seconds: histogram(
    'How long the disk took to keep what was committed (fdatasync).',
    fineSeconds,
  ),
  store_log_bytes: gauge('Bytes in use of the write-ahead log of the database.'),
  store_checkpoints_total: counter(
    'Times that the log was moved into the file of the database, by outcome (done, failed).',
    'outcome',
  ),
  store_file_bytes: gauge('Size of the file of the database, and of that of its log.', 'file'),
  index_waiting: gauge('Messages that are not in the search index yet, counted up to 10,000.'),
  index_lag_seconds: gauge('How old the oldest of them is; 0 where all are in it.'),
  index_failed: gauge('Messages that could not be put into the search index, counted up to 10,000.'),
  disk_free_bytes: gauge('Bytes that are free on the disk of data_dir, for this user.'),
  disk_min_free_bytes: gauge('Bytes below which nothing new is taken in (min_free).'),
  certificate_expiry_seconds: gauge(
    'The instant at which a certificate in force ends (seconds since 1970), in the order of the configuration.',
    'certificate',
  ),
} as const satisfies Record<string, Measure>

export type MeasureName = keyof typeof measures
/** The names of one kind. */
type Named<Kind> = {
  [Name in MeasureName]: (typeof measures)[Name]['kind'] extends Kind ? Name : never
}[MeasureName]
type CounterName = Named<'counter'>
export type GaugeName = Named<'gauge'>
type HistogramName = Named<'histogram'>
/** A value for each label of a measure. */
export type LabelsOf<Name extends MeasureName> = Texts<(typeof measures)[Name]['labels']>
type Texts<Labels extends readonly string[]> = { readonly [Index in keyof Labels]: string }
