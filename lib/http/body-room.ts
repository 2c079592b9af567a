import type { Clock } from '../base/clock.ts'
import { limits } from '../base/limits.ts'
import { invalidRequest, Problem } from '../base/problem.ts'
import type { Caller } from '../core/app/caller.ts'

/** What the bodies of the requests under way may take of the memory. */
export interface BodyRoom {
  /** For a request of this caller; undefined for one without a key. */
  enter(caller: Caller | undefined): BodyShare
}

/** What the body of one request takes. */
export interface BodyShare {
  /**
   * It takes so many bytes now.
   * @throws Problem `rate_limit_exceeded` when the key, or its pod, has no room left; `unavailable` when there is none for anybody
   */
  take(bytes: number): void
  /** From now on until it has come it must bring `limits.bodyLeastBytes` in each `limits.bodyLeastMs`; gives the function that ends this. */
  watch(body: ComingBody): () => void
  /** It takes nothing any more. */
  leave(): void
}

/** A body that has not come whole yet. */
export interface ComingBody {
  /** How many bytes of it are there. */
  arrived(): number
  refuse(problem: Problem): void
}

/** How far a body was when it had last brought enough. */
interface Watched {
  bytes: number
  at: number
}

export function createBodyRoom(clock: Pick<Clock, 'monotonicMs'>): BodyRoom {
  const taken = new Map<string, number>()
  let total = 0
  const watched = new Map<ComingBody, Watched>()
  let timer: NodeJS.Timeout | undefined

  const of = (name: string) => taken.get(name) ?? 0

  /** Why a body can not have `more` beside its `own`. */
  function refusalOf(caller: Caller | undefined, own: number, more: number): Problem | undefined {
    const { keyId = null, podId = null } = caller ?? {}
    const ofKey = limits.bodiesBytesPerKey
    if (of(nameOfKey(keyId)) + more > ofKey) return tooMuch('of this key', `more than ${ofKey} bytes`)
    const ofPod = podId === null ? 0 : of(nameOfPod(podId))
    const left = limits.bodiesBytes - total - more
    // However many pods take all that they get, there is room for one that has nothing under way yet.
    if (ofPod > own && ofPod + more > left)
      return tooMuch("of this pod's keys", 'more than they leave to others')
    if (left < 0)
      return new Problem('unavailable', 'Too many large requests are under way. Try again shortly.')
    return undefined
  }

  function look(): void {
    const now = clock.monotonicMs()
    for (const [body, one] of watched) {
      const bytes = body.arrived()
      if (bytes - one.bytes >= limits.bodyLeastBytes) Object.assign(one, { bytes, at: now })
      else if (now - one.at >= limits.bodyLeastMs) body.refuse(tooSlow())
    }
  }

  return {
    enter(caller) {
      const { keyId = null, podId = null } = caller ?? {}
      const owners = [nameOfKey(keyId), ...(podId === null ? [] : [nameOfPod(podId)])]
      let own = 0
      const change = (by: number) => {
        for (const name of owners) {
          const now = of(name) + by
          if (now === 0) taken.delete(name)
          else taken.set(name, now)
        }
        total += by
        own += by
      }
      return {
        take(bytes) {
          const refusal = refusalOf(caller, own, bytes - own)
          if (refusal) throw refusal
          change(bytes - own)
        },
        watch(body) {
          watched.set(body, { bytes: body.arrived(), at: clock.monotonicMs() })
          timer ??= setInterval(look, limits.requestsWatchMs)
          return () => {
            watched.delete(body)
            if (watched.size > 0) return
            clearInterval(timer)
            timer = undefined
          }
        },
        leave: () => change(-own),
      }
    },
  }
}

const nameOfKey = (keyId: string | null) => `key ${keyId}`
const nameOfPod = (podId: string) => `pod ${podId}`

function tooMuch(whose: string, what: string): Problem {
  const message = `The requests ${whose} that are under way have ${what}. Wait for them.`
  return new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
}

function tooSlow(): Problem {
  const { bodyLeastBytes, bodyLeastMs } = limits
  return invalidRequest(
    'body',
    `came too slowly, with less than ${bodyLeastBytes} bytes in ${bodyLeastMs / 1000} seconds: send it again over a faster line, or send less`,
  )
}
