import type { NetConnectOpts } from 'node:net'
import type { Readable } from 'node:stream'
import { FairSlots, type Leave } from '../../base/fair-slots.ts'
import { createTally, type Log, tallyMs } from '../../base/log.ts'
import type { Meter } from '../../base/metrics.ts'
import type { Clock } from '../../base/time.ts'

import { scanWithClamav } from './clamav.ts'
import { createRspamd, type Envelope, scansAtOnce } from './rspamd.ts'

/** A message to be scanned. */
export interface Scanned extends Envelope {
  readonly sizeBytes: number
  /** A fresh stream of its bytes each time. */
  open(): Readable
}

/** What the scanners found; what was not scanned has nothing. */
export interface Findings {
  /** The name of a virus. */
  readonly virus?: string
  /** The action that rspamd advises, where it is one of those that mean spam. */
  readonly spamAction?: string
}

/** The programs beside mailboxd that look into messages. Whether they are there or not, mail flows. */
export interface Scanner {
  /** Never rejects: a scanner that is down or late, or takes no message of that size, has found nothing. */
  scan(message: Scanned): Promise<Findings>
  close(): Promise<void>
}

export interface ScannerOptions {
  readonly clock: Clock
  readonly log: Log
  readonly meter: Meter
  /** clamd's socket; undefined: not asked. */
  readonly clamav: NetConnectOpts | undefined
  /** rspamd's address; undefined: not asked. */
  readonly rspamdUrl: string | undefined
  readonly spamActions: readonly string[]
  /** How long one message may take, waiting for its turn included. */
  readonly timeoutMs: number
  /** Larger messages are not scanned. */
  readonly maxSizeBytes: number
}

export function createScanner(options: ScannerOptions): Scanner {
  const { clamav, rspamdUrl, clock, log, meter } = options
  const rspamd = rspamdUrl === undefined ? undefined : createRspamd(rspamdUrl)
  const slots = new FairSlots({ size: scansAtOnce })
  const tallies = new Map(
    (['ClamAV', 'rspamd'] as const).map(name => [
      name,
      createTally(clock, tallyMs, reasons => {
        log.warn({ scanner: name, reasons }, 'messages could not be scanned')
      }),
    ]),
  )

  /** What `work` finds, or nothing. */
  async function attempt<T>(
    name: 'ClamAV' | 'rspamd',
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<{ readonly found: T } | undefined> {
    const signal = AbortSignal.timeout(options.timeoutMs)
    const began = clock.monotonicMs()
    let leave: Leave | undefined
    try {
      leave = await slots.enter(name, { signal })
      signal.throwIfAborted()
      return { found: await work(signal) }
    } catch (error) {
      tallies.get(name)!.note(signal.aborted ? 'no answer in time' : reasonOf(error))
      meter.count('scans_total', name.toLowerCase(), signal.aborted ? 'late' : 'failed')
      return undefined
    } finally {
      leave?.()
      meter.observe('scan_seconds', (clock.monotonicMs() - began) / 1000, name.toLowerCase())
    }
  }

  const outcomeOf = (isFound: boolean) => (isFound ? 'found' : 'clean')

  return {
    async scan(message) {
      if (message.sizeBytes > options.maxSizeBytes) {
        if (clamav) meter.count('scans_total', 'clamav', 'too_large')
        if (rspamd) meter.count('scans_total', 'rspamd', 'too_large')
        return {}
      }
      const [scanned, checked] = await Promise.all([
        clamav && attempt('ClamAV', signal => scanWithClamav(clamav, message.open(), signal)),
        rspamd && attempt('rspamd', signal => rspamd.check(message, message.open(), signal)),
      ])
      const virus = scanned?.found
      const advice = checked?.found
      const isSpam = advice !== undefined && options.spamActions.includes(advice.action)
      if (scanned) meter.count('scans_total', 'clamav', outcomeOf(virus !== undefined))
      if (checked) meter.count('scans_total', 'rspamd', outcomeOf(isSpam))
      return { ...(virus && { virus }), ...(isSpam && { spamAction: advice.action }) }
    },
    async close() {
      await rspamd?.close()
    },
  }
}

/** In a word that does not differ from message to message, so that it can be counted. */
function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : error instanceof Error ? error.message : String(error)
}
