import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'
import type { Caller } from '../core/app/caller.ts'
import { podShare } from '../core/app/share.ts'

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
  /** It takes nothing any more. */
  leave(): void
}

interface Owner {
  readonly name: string
  readonly whose: string
  readonly mostBytes: number
}

/** Whose room the body of a request takes: of its key, and of the pod that many keys may be of. */
function ownersOf(caller: Caller | undefined): Owner[] {
  const { keyId = null, podId = null } = caller ?? {}
  const ofKey = { name: `key ${keyId}`, whose: 'of this key', mostBytes: limits.bodiesBytesPerKey }
  if (podId === null) return [ofKey]
  const ofPod = { name: `pod ${podId}`, whose: "of this pod's keys", mostBytes: podShare(limits.bodiesBytes) }
  return [ofKey, ofPod]
}

export function createBodyRoom(): BodyRoom {
  const taken = new Map<string, number>()
  let total = 0
  return {
    enter(caller) {
      const owners = ownersOf(caller)
      let own = 0
      const change = (by: number) => {
        for (const { name } of owners) {
          const now = (taken.get(name) ?? 0) + by
          if (now === 0) taken.delete(name)
          else taken.set(name, now)
        }
        total += by
        own += by
      }
      return {
        take(bytes) {
          const more = bytes - own
          for (const { name, whose, mostBytes } of owners) {
            if ((taken.get(name) ?? 0) + more <= mostBytes) continue
            const message = `The requests ${whose} that are under way have more than ${mostBytes} bytes. Wait for them.`
            throw new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
          }
          if (total + more > limits.bodiesBytes) {
            throw new Problem('unavailable', 'Too many large requests are under way. Try again shortly.')
          }
          change(more)
        },
        leave: () => change(-own),
      }
    },
  }
}
