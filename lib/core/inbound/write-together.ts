import { DiskFailed, isDiskFull, StorageLocked, StorageUnreachable } from '../../base/faults.ts'
import { sizeOf } from '../../blob/content.ts'
import type { WriteDb } from '../../store/dialect/dialect.ts'
import type { App } from '../app/app.ts'
import { suppressionOf } from '../outbound/suppressions.ts'
import type { Accepted, Reception } from './arrival.ts'
import { type Written, writeReceptions } from './write.ts'

/** A message that has waited so long is not stored: its sender gets 451. */
export const mailBegunMs = 8_000

/** Messages, one for each inbox, after which a write takes no further reception; the rest goes into the next. */
const messagesAtOnce = 64
/** The same for the bytes that the database keeps of them: to write and commit these holds the event loop. */
const bytesAtOnce = 2 * 1024 * 1024

interface Waiting {
  readonly reception: Reception
  readonly askedMs: number
  readonly written: PromiseWithResolvers<string[]>
}

/**
 * Writes receptions: those that wait when a write begins are written together. Where that fails, each is written alone, so that
 * none fails for another.
 * @returns resolves with the ids of the messages when the disk has them; throws Reply 550 5.1.1 when the inboxes were deleted meanwhile
 */
export function createReceptionWriter(app: App): (reception: Reception) => Promise<string[]> {
  const { store, clock } = app
  /**
   * Whether its peer may have his 451 before it is written: then it is not, for he brings it again. A server of the database may have others
   * wait for long; who waits for a file is answered when it is done.
   */
  const isLate = ({ askedMs }: Waiting) =>
    store.dialect !== 'sqlite' && clock.monotonicMs() - askedMs >= mailBegunMs
  let waiting: Waiting[] = []
  let isAsked = false

  function take(): Waiting[] {
    isAsked = false
    let messages = 0
    let bytes = 0
    const taken: Waiting[] = []
    const left: Waiting[] = []
    const likely = new Set<string>()
    for (const one of waiting) {
      const { becomes } = one.reception
      const isFull = messages >= messagesAtOnce || bytes >= bytesAtOnce
      const copies = isFull ? [] : copyKeysOf(becomes)
      // A copy of a message of this write waits for the next one, which finds the message in the table.
      if (isFull || copies.some(key => likely.has(key))) {
        left.push(one)
        continue
      }
      for (const key of copies) likely.add(key)
      taken.push(one)
      messages += 'nothing' in becomes ? 1 : becomes.arrival.recipients.length
      bytes += 'nothing' in becomes ? 0 : keptBytes(becomes)
    }
    waiting = left
    if (waiting.length > 0) ask()
    return taken
  }

  function ask(): void {
    if (isAsked) return
    isAsked = true
    void writeWaiting()
  }

  async function writeWaiting(): Promise<void> {
    let taken: readonly Waiting[] | undefined
    let timely: readonly Waiting[] = []
    try {
      const held = () => {
        // Of a write that is done again, the same.
        taken ??= take()
        return {
          inboxes: taken.flatMap(({ reception }) => inboxesOf(reception)),
          isDivisible: taken.length > 1,
        }
      }
      const written = await store.writeHolding(held, db => {
        timely = taken!.filter(one => !isLate(one))
        if (timely.length === 0) throw tooLate()
        return writeReceptions(
          app,
          db,
          timely.map(({ reception }) => reception),
        )
      })
      settle(timely, written)
      for (const one of taken!) if (!timely.includes(one)) one.written.reject(tooLate())
    } catch (error) {
      // It did not even begin.
      taken ??= take()
      const concernsAll =
        error instanceof DiskFailed ||
        error instanceof StorageLocked ||
        error instanceof StorageUnreachable ||
        isDiskFull(error)
      if (taken.length <= 1 || concernsAll) for (const { written } of taken) written.reject(error)
      else for (const one of taken) void writeAlone(one)
    }
  }

  async function writeAlone(one: Waiting): Promise<void> {
    const { reception } = one
    const work = (db: WriteDb) => {
      if (isLate(one)) throw tooLate()
      return writeReceptions(app, db, [reception])
    }
    const held = { inboxes: inboxesOf(reception), ...heldByReturned(reception) }
    try {
      settle([one], await store.writeHolding(() => held, work))
    } catch (error) {
      one.written.reject(error)
    }
  }

  return reception => {
    const written = Promise.withResolvers<string[]>()
    const one = { reception, written, askedMs: clock.monotonicMs() }
    if (heldByReturned(reception).messages.length > 0) void writeAlone(one)
    else {
      waiting.push(one)
      ask()
    }
    return written.promise
  }
}

const tooLate = () => new StorageUnreachable(new Error('it did not come to the write in time'))

/** Returns what a write holds because of the deliveries whose end it reports: their messages, and their recipients. */
export function heldByReturned({ returned: { bounces, complaints } }: Reception) {
  const deliveries = [...bounces.map(({ delivery }) => delivery), ...complaints]
  return {
    messages: deliveries.map(({ messageId }) => messageId),
    names: deliveries.map(({ recipient }) => suppressionOf(recipient)),
  }
}

/** The inboxes that it comes to. */
function inboxesOf({ becomes }: Reception): string[] {
  return 'nothing' in becomes ? [] : becomes.arrival.recipients.map(({ inboxId }) => inboxId)
}

/** Returns a key for each inbox that two receptions share only if both may be the same message. */
function copyKeysOf(becomes: Reception['becomes']): string[] {
  if ('nothing' in becomes || becomes.reading.message.rfcMessageId === null) return []
  const { arrival, reading } = becomes
  const bytes = sizeOf(arrival.content)
  return arrival.recipients.map(({ inboxId }) => `${inboxId} ${bytes} ${reading.message.rfcMessageId}`)
}

/** About how much of a message goes into the database: its text, and its raw where that is in no file. */
function keptBytes({ arrival: { content, rawId }, reading: { message, extracted } }: Accepted): number {
  const raw = content.kind === 'memory' && rawId === undefined ? content.bytes.length : 0
  return raw + message.text.length + message.html.length + extracted.length
}

function settle(taken: readonly Waiting[], all: readonly Written[]): void {
  for (const [index, { written }] of taken.entries()) {
    const one = all[index]!
    if ('ids' in one) written.resolve(one.ids)
    else written.reject(one.refusal)
  }
}
