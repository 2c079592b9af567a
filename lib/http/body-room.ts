import { limits } from '../base/limits.ts'
import { Problem } from '../base/problem.ts'

/** What the bodies of the requests under way may take of the memory. */
export interface BodyRoom {
  /** For a request with this key (null: without one). */
  enter(keyId: string | null): BodyShare
}

/** What the body of one request takes. */
export interface BodyShare {
  /**
   * It takes so many bytes now.
   * @throws Problem `rate_limit_exceeded` when the key has no room left; `unavailable` when there is none for anybody
   */
  take(bytes: number): void
  /** It takes nothing any more. */
  leave(): void
}

export function createBodyRoom(): BodyRoom {
  const perKey = new Map<string | null, number>()
  let total = 0
  return {
    enter(keyId) {
      let taken = 0
      const change = (by: number) => {
        const now = (perKey.get(keyId) ?? 0) + by
        if (now === 0) perKey.delete(keyId)
        else perKey.set(keyId, now)
        total += by
        taken += by
      }
      return {
        take(bytes) {
          const more = bytes - taken
          if ((perKey.get(keyId) ?? 0) + more > limits.bodiesBytesPerKey) {
            const message = `The requests of this key that are under way have more than ${limits.bodiesBytesPerKey} bytes. Wait for them.`
            throw new Problem('rate_limit_exceeded', message, { retryAfterSeconds: 1 })
          }
          if (total + more > limits.bodiesBytes) {
            throw new Problem('unavailable', 'Too many large requests are under way. Try again shortly.')
          }
          change(more)
        },
        leave: () => change(-taken),
      }
    },
  }
}
