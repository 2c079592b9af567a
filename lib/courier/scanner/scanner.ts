import type { NetConnectOpts } from 'node:net'
import type { Readable } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import { limits } from '../../base/limits.ts'
import type { Log } from '../../base/log.ts'
import { createTally } from '../../base/tally.ts'
import { scanWithClamav } from './clamav.ts'
import { createRspamd, type Envelope } from './rspamd.ts'

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
  const { clamav, rspamdUrl, clock, log } = options
  const rspamd = rspamdUrl === undefined ? undefined : createRspamd(rspamdUrl)
  const takeTurn = createTurns(limits.scansAtOnce)
  const tallies = new Map(
    ['ClamAV', 'rspamd'].map(name => [
      name,
      createTally(clock, limits.tallyMs, reasons => {
        log.warn({ scanner: name, reasons }, 'messages could not be scanned')
      }),
    ]),
  )

  /** What `work` finds, or nothing. */
  async function attempt<T>(name: string, work: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    const signal = AbortSignal.timeout(options.timeoutMs)
    let release: (() => void) | undefined
    try {
      release = await takeTurn(signal)
      return await work(signal)
    } catch (error) {
      tallies.get(name)!.note(signal.aborted ? 'no answer in time' : reasonOf(error))
      return undefined
    } finally {
      release?.()
    }
  }

  return {
    async scan(message) {
      if (message.sizeBytes > options.maxSizeBytes) return {}
      const [virus, advice] = await Promise.all([
        clamav && attempt('ClamAV', signal => scanWithClamav(clamav, message.open(), signal)),
        rspamd && attempt('rspamd', signal => rspamd.check(message, message.open(), signal)),
      ])
      const isSpam = advice !== undefined && options.spamActions.includes(advice.action)
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

/** Lets so many go on at once, the others in the order in which they came; gives what ends a turn. */
function createTurns(places: number): (signal: AbortSignal) => Promise<() => void> {
  let free = places
  const waiting = new Set<() => void>()
  const release = () => {
    const [next] = waiting
    if (next) next()
    else free++
  }
  return signal =>
    new Promise((resolve, reject) => {
      if (free > 0) {
        free--
        resolve(release)
        return
      }
      const begin = () => {
        waiting.delete(begin)
        resolve(release)
      }
      waiting.add(begin)
      signal.addEventListener('abort', () => {
        if (waiting.delete(begin)) reject(signal.reason)
      })
    })
}
