import { limits } from '../../base/limits.ts'
import type { SmtpSession } from './session.ts'

/** Sessions that wait, for a few seconds, for the next message to the same address. Bounded in every direction. */
export class SessionPool {
  readonly #idle = new Map<SmtpSession, () => void>()
  readonly #idleMs: number
  #isClosed = false

  constructor(idleMs: number = limits.smtpIdleMs) {
    this.#idleMs = idleMs
  }

  /**
   * A session with the address, the one that waited least; it is the caller's now.
   * @param lane of the same lane alone: what was demanded of the one holds for the other
   * @param host what is in plaintext is for the same host alone: with another name of the address TLS may succeed
   */
  take(host: string, address: string, lane: string): SmtpSession | undefined {
    let found: SmtpSession | undefined
    for (const session of this.#idle.keys()) {
      const isSafe = session.tls !== undefined || session.host === host
      if (isSafe && session.address === address && session.lane === lane && session.isOpen) found = session
    }
    if (found !== undefined) this.#forget(found)
    return found
  }

  /** Keeps a session that is between two messages; ends it when there is no room or its share is used up. */
  give(session: SmtpSession): void {
    if (!session.isOpen) return
    let same = 0
    for (const other of this.#idle.keys()) if (other.address === session.address) same++
    const isFull = this.#idle.size >= limits.smtpIdleSessions || same >= limits.smtpIdleSessionsPerAddress
    if (this.#isClosed || isFull || session.messages >= limits.smtpMessagesPerSession) {
      void session.quit()
      return
    }
    const timer = setTimeout(() => {
      this.#forget(session)
      void session.quit()
    }, this.#idleMs)
    const unlisten = session.onceClosed(() => this.#forget(session))
    this.#idle.set(session, () => {
      clearTimeout(timer)
      unlisten()
    })
  }

  /**
   * Ends the session with the address that waited longest, if any does: one that can not be used is not kept beside another, or
   * many names of one address would have more connections there than it is to have.
   */
  async makeRoom(address: string): Promise<void> {
    for (const session of this.#idle.keys()) {
      if (session.address !== address) continue
      this.#forget(session)
      return session.quit()
    }
  }

  #forget(session: SmtpSession): void {
    this.#idle.get(session)?.()
    this.#idle.delete(session)
  }

  /** Says QUIT to all that wait. */
  async close(): Promise<void> {
    this.#isClosed = true
    const sessions = [...this.#idle.keys()]
    for (const session of sessions) this.#forget(session)
    await Promise.all(sessions.map(session => session.quit()))
  }
}
