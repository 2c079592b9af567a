import type { Log } from '../base/log.ts'
import { type Meter, noMeter } from '../base/metrics.ts'
import { Reply } from '../base/reply.ts'
import type { Clock } from '../base/time.ts'
import { readStart } from '../blob/content.ts'
import { headerBytes } from '../mail/header/header.ts'
import type { ThreadData } from './job.ts'
import { createLane } from './lane.ts'
import type { Reading, ReadingRequest } from './reading.ts'
import { startThread, type ThreadBounds } from './thread.ts'

/** Reads messages where what is in them can do no harm. */
export interface MailReader {
  /**
   * Never fails for what a message holds: of one that can't be read there is what its header says.
   * @param party whose message it is: who brings much waits for himself, and not the others for him
   * @throws Reply 451 4.3.2 when too much is being read for too long; what reading the file of its bytes throws
   */
  read(request: ReadingRequest, party: string): Promise<Reading>
  /** How many messages are being read, or wait for that. */
  count(): number
  /** Ends the threads; what they are reading comes to nothing. */
  stop(): Promise<void>
}

export interface ReaderOptions extends ThreadBounds, Omit<ThreadData, 'places'> {
  /** How many threads there are at the most; they start when they are needed. */
  readonly threads: number
  /** Bytes that those for small messages have at once, and those for large ones. */
  readonly smallBytes: number
  readonly largeBytes: number
  /** How long a message waits until it may be read, each time. */
  readonly waitMs: number
  /** After this without work threads end, for what they grew to. */
  readonly idleMs: number
  readonly clock: Clock
  readonly log: Log
  /** Nothing is counted without one. */
  readonly meter?: Meter
}

/**
 * Threads that read messages. Those of large messages are apart from those of small ones, so that nobody's letter waits for
 * somebody's 20 MB. A message that ends its thread, or is late, is read once more where it can harm no other; then its
 * header is read alone, there; and if that fails, too, its header is read here, and its author is not proven.
 */
export function createMailReader(options: ReaderOptions): MailReader {
  const { clock, log, meter = noMeter } = options
  let lastNumber = 0
  let count = 0
  let isStopped = false

  const { hostname, dns, trustedSealers, smallBytes, largeBytes, waitMs, idleMs } = options
  const data = { hostname, dns, trustedSealers }
  const start = (ended: () => void) =>
    startThread(data, options, clock, ({ why, messages }) => {
      ended()
      meter.count('reading_deaths_total')
      log.warn({ why, messages }, 'a reading thread ended')
    })
  const largeThreads = Math.floor(options.threads / 2)
  const laneOf = (threads: number, bytes: number) => createLane({ threads, bytes, waitMs, idleMs }, start)
  const small = laneOf(options.threads - largeThreads, smallBytes)
  const large = largeThreads === 0 ? small : laneOf(largeThreads, largeBytes)

  /** Reads it until there is a reading. Which message ended a thread is known when it was being read; else each of them is read again alone. */
  async function readInThreads(request: ReadingRequest, party: string): Promise<Reading> {
    let isAlone = false
    let wasDisturbed = false
    let headerAlone: string | undefined
    for (;;) {
      const number = ++lastNumber
      const lane = isAlone || request.content.kind === 'file' ? large : small
      const end = await lane.read({ number, request, headerAlone }, party, isAlone)
      if (isStopped) throw new Error('the server is stopping')
      if (!end) {
        meter.count('reading_jobs_total', 'refused')
        throw new Reply(451, '4.3.2', 'Too much mail is being read just now; try again soon')
      }
      if ('reading' in end) return end.reading
      if ('error' in end) throw end.error
      if (end.culprit !== undefined && end.culprit !== number) {
        // Whoever was in bad company twice is kept apart from then on.
        isAlone = wasDisturbed
        wasDisturbed = true
        continue
      }
      if (headerAlone !== undefined) return readHere(request, headerAlone)
      if (end.messages === 1) headerAlone = end.why
      isAlone = true
    }
  }

  return {
    async read(request, party) {
      const began = clock.monotonicMs()
      count++
      try {
        const reading = await readInThreads(request, party)
        meter.count('reading_jobs_total', 'read')
        meter.observe('reading_wait_seconds', (clock.monotonicMs() - began) / 1000)
        return reading
      } finally {
        count--
      }
    },
    count: () => count,
    async stop() {
      isStopped = true
      await Promise.all([small.stop(), large.stop()])
    },
  }
}

/** The header alone, in this thread, which is little work whatever stands in it. */
async function readHere(request: ReadingRequest, problem: string): Promise<Reading> {
  // What reads is loaded in its threads, and hardly ever here.
  const { readHeaderAlone } = await import('./read-mail.ts')
  const start = await readStart(request.content, headerBytes)
  return { ...(await readHeaderAlone(start, request, problem)), authentication: null }
}
