import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { type GaugeName, type LabelsOf, type MeasureName, type Meter, measures } from '../base/metrics.ts'

/** The metrics of this process, kept for whoever asks for them. */
export interface Metrics extends Meter {
  set<Name extends GaugeName>(name: Name, value: number, ...labels: LabelsOf<Name>): void
  /** All of them in the text format of Prometheus. */
  text(): Promise<string>
  readonly contentType: string
}

/** Series of one metric; what comes above is counted under `other`. Each operation of the API with each of its statuses has room. */
const seriesMost = 2000
/** What a label may say. Nothing else is asked to be counted; what is all the same can't fill a page of the operator's. */
const labelPattern = /^[\w .:+-]{0,64}$/

/**
 * Series that are there from the beginning, with 0: those that alerts ask about. Of a series that begins with 1 Prometheus sees no
 * increase.
 */
const fromTheBeginning: readonly (readonly [MeasureName, ...string[]])[] = [
  ...['accepted', 'rate', 'address', 'all'].map(outcome => ['smtp_connections_total', outcome] as const),
  ['smtp_refusals_total', '451', '4.3.0'],
  ...['read', 'refused'].map(outcome => ['reading_jobs_total', outcome] as const),
  ...['done', 'failed'].map(outcome => ['store_checkpoints_total', outcome] as const),
  ...['delivered', 'failed', 'gone'].map(result => ['webhook_calls_total', result] as const),
  ['http_problems_total', 'internal_error'],
]

type Kept = Counter | Gauge | Histogram

/** One series of a metric: its kind says which of these it has. */
interface Series {
  readonly inc?: (by?: number) => void
  readonly set?: (value: number) => void
  readonly observe?: (value: number) => void
}

/** @param seriesOf how many series one metric may have; a test has few */
export function createMetrics(seriesOf = seriesMost): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, prefix: 'mailboxd_' })
  // Gauges that are named like counters, and that say nothing that an operator could do anything about.
  for (const what of ['handles', 'requests', 'resources']) {
    registry.removeSingleMetric(`mailboxd_nodejs_active_${what}`)
    registry.removeSingleMetric(`mailboxd_nodejs_active_${what}_total`)
  }
  const all = new Map<
    string,
    { readonly metric: Kept; readonly known: Map<string, Series>; readonly labels: number }
  >()
  for (const [name, one] of Object.entries(measures)) {
    const options = {
      name: `mailboxd_${name}`,
      help: one.help,
      labelNames: one.labels,
      registers: [registry],
    }
    const metric =
      one.kind === 'counter'
        ? new Counter(options)
        : one.kind === 'gauge'
          ? new Gauge(options)
          : new Histogram({ ...options, buckets: [...one.buckets] })
    all.set(name, { metric, known: new Map(), labels: one.labels.length })
  }

  /** The series with these labels, or with `other` in the place of what is too much. It is looked up with each request, and made once. */
  function find(name: MeasureName, given: readonly string[]): Series {
    const { metric, known, labels: count } = all.get(name)!
    const found = known.get(keyOf(given))
    if (found) return found
    const labels = given.map(label => (labelPattern.test(label) ? label : 'other'))
    const key = keyOf(labels)
    const other = known.get(key)
    if (other) return other
    if (known.size >= seriesOf) return metric.labels(...Array<string>(count).fill('other'))
    const made = metric.labels(...labels)
    known.set(key, made)
    return made
  }

  for (const [name, ...labels] of fromTheBeginning) find(name, labels).inc!(0)
  return {
    contentType: registry.contentType,
    count: (name, ...labels) => find(name, labels).inc!(),
    observe: (name, value, ...labels) => find(name, labels).observe!(value),
    set: (name, value, ...labels) => find(name, labels).set!(value),
    add(noted) {
      for (const one of noted) {
        if ('count' in one) find(one.count, one.labels).inc!(one.by)
        else find(one.observe, one.labels).observe!(one.value)
      }
    },
    text: () => registry.metrics(),
  }
}

function keyOf(labels: readonly string[]): string {
  return labels.length === 1 ? labels[0]! : labels.join('\n')
}
