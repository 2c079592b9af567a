import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import type { Caller } from '../core/app/caller.ts'

/** What large answers may take of the memory from when they are made until they were read. */
export interface AnswerRoom {
  /**
   * Waits until there is room for so many bytes, in the order of those who share it. Who has nothing has room for any answer.
   * @throws Problem `rate_limit_exceeded` when those who share it read too slowly; `unavailable` when all do; what `signal`
   * is aborted with
   */
  enter(bytes: number, by: Reader): Promise<AnswerShare>
  /** What all of them hold now, in bytes. */
  held(): number
}

/** Who is answered. */
export interface Reader {
  /** Whose room it takes. */
  readonly shares: readonly AnswerOwner[]
  /** Gives what is aborted when nobody waits for the answer any more; asked only where it has to wait. */
  readonly signal: () => AbortSignal
  /** Ends the connection, because others wait for what it holds. */
  readonly cut: () => void
  /** Calls this when the answer was read or the connection is over, by whoever; at once when it is. */
  readonly whenOver: (leave: () => void) => void
}

export interface AnswerOwner {
  readonly name: string
  readonly mostBytes: number
}

/** The room of one answer, which it leaves by itself when its reader says that it is over. */
export interface AnswerShare {
  /** So much it is now that it was made. Of one that is over, nothing: whoever hung up meanwhile holds nothing. */
  become(bytes: number): void
}

export interface AnswerRoomLimits {
  /** Of all together. */
  readonly mostBytes: number
  readonly waitMs: number
}

interface Waiting {
  readonly by: Reader
  readonly bytes: number
  readonly admit: () => void
}

/** Whose room the answer to this caller takes, or to this address where there is none. */
export function answerOwners(caller: Caller | undefined, address: string): AnswerOwner[] {
  const { answersBytesPerKey, answersBytesPerPod } = limits
  if (!caller) return [{ name: `address ${address}`, mostBytes: answersBytesPerKey }]
  const { keyId, podId } = caller
  return [
    { name: `key ${keyId}`, mostBytes: answersBytesPerKey },
    ...(podId === null ? [] : [{ name: `pod ${podId}`, mostBytes: answersBytesPerPod }]),
  ]
}

/** @param refused called for each answer that had no room */
export function createAnswerRoom(
  { mostBytes, waitMs }: AnswerRoomLimits,
  refused: () => void = () => {},
): AnswerRoom {
  const taken = new Map<string, number>()
  let total = 0
  /** Both in the order in which they came. */
  const waiting = new Set<Waiting>()
  const held = new Set<Reader>()

  const hasShare = ({ bytes, by }: Waiting) =>
    by.shares.every(({ name, mostBytes }) => {
      const now = taken.get(name) ?? 0
      return now === 0 || now + bytes <= mostBytes
    })

  function change({ shares }: Reader, by: number): void {
    total += by
    for (const { name } of shares) {
      const now = (taken.get(name) ?? 0) + by
      if (now === 0) taken.delete(name)
      else taken.set(name, now)
    }
  }

  /** Nobody overtakes those who share with him. */
  function admit(): void {
    const passed = new Set<string>()
    for (const one of waiting) {
      const names = one.by.shares.map(({ name }) => name)
      if (names.some(name => passed.has(name)) || !hasShare(one)) {
        for (const name of names) passed.add(name)
      } else if (total > 0 && total + one.bytes > mostBytes) return
      else {
        waiting.delete(one)
        take(one)
        one.admit()
      }
    }
  }

  function take({ by, bytes }: Waiting): void {
    held.add(by)
    change(by, bytes)
  }

  function shareOf(by: Reader, reserved: number): AnswerShare {
    let bytes = reserved
    let isOver = false
    const become = (now: number) => {
      if (isOver) return
      change(by, now - bytes)
      bytes = now
      if (waiting.size > 0) admit()
    }
    by.whenOver(() => {
      become(0)
      isOver = true
      held.delete(by)
    })
    return { become }
  }

  function wait(bytes: number, by: Reader): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const signal = by.signal()
    const one: Waiting = { by, bytes, admit: () => end(resolve) }
    const end = (done: () => void) => {
      waiting.delete(one)
      clearTimeout(timer)
      signal.removeEventListener('abort', gone)
      done()
    }
    const gone = () => end(() => reject(signal.reason))
    let hasCut = false
    const late = () => {
      if (hasShare(one) && !hasCut) {
        hasCut = true
        timer = setTimeout(late, waitMs)
        const [oldest] = held
        return oldest?.cut()
      }
      refused()
      end(() => reject(refusal(hasCut)))
      // Who shares with him may have waited for his turn.
      admit()
    }
    let timer = setTimeout(late, waitMs)
    signal.addEventListener('abort', gone)
    waiting.add(one)
    if (signal.aborted) gone()
    else admit()
    return promise
  }

  return {
    held: () => total,
    async enter(bytes, by) {
      const one = { by, bytes, admit() {} }
      // Mostly there is room, and who waits for nobody needs no timer and no signal.
      if (waiting.size === 0 && hasShare(one) && (total === 0 || total + bytes <= mostBytes)) take(one)
      else await wait(bytes, by)
      return shareOf(by, bytes)
    },
  }
}

function refusal(isOfAll: boolean): Problem {
  if (isOfAll)
    return new Problem('unavailable', 'Too many large answers are not read yet. Try again shortly.')
  const message = 'Answers to this key are not read yet, and there is no room for more. Read those first.'
  return new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
}
