import type { SmtpSession } from './session.ts'

/** Connections kept for the next message: how long, how many in all and to one address; messages of each. */
export const smtpIdleMs = 5_000
export const smtpIdleSessions = 100
export const smtpIdleSessionsPerAddress = 20
/** Connections that wait for the answer to RSET or QUIT, in all and to one address; those above it are ended without a word. */
export const smtpPartingSessions = 100
export const smtpPartingSessionsPerAddress = 20
export const smtpMessagesPerSession = 100

/** Sessions that wait, for a few seconds, for the next message to the same address. Bounded in every direction. */
export class SessionPool {
  readonly #idle = new Map<SmtpSession, () => void>()
  /** Those that wait for the answer to RSET or QUIT. */
  readonly #parting = new Set<SmtpSession>()
  readonly #idleMs: number
  #isClosed = false

  constructor(idleMs: number = smtpIdleMs) {
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
    if (!session.hasSaidAll) {
      session.close()
      return
    }
    let same = 0
    for (const other of this.#idle.keys()) if (other.address === session.address) same++
    const isFull = this.#idle.size >= smtpIdleSessions || same >= smtpIdleSessionsPerAddress
    if (this.#isClosed || isFull || session.messages >= smtpMessagesPerSession) {
      void this.#quit(session)
      return
    }
    const timer = setTimeout(() => {
      this.#forget(session)
      void this.#quit(session)
    }, this.#idleMs)
    const unlisten = session.onceClosed(() => this.#forget(session))
    this.#idle.set(session, () => {
      clearTimeout(timer)
      unlisten()
    })
  }

  /** Keeps a session whose transaction was refused, after RSET, so that the next one does not inherit it. */
  async undo(session: SmtpSession): Promise<void> {
    if (await this.#part(session, () => session.reset())) this.give(session)
  }

  /**
   * Ends the session with the address that waited longest, if any does: one that can not be used is not kept beside another, or
   * many names of one address would have more connections there than it is to have.
   * @param signal whoever needs the room does not wait for QUIT beyond it
   */
  async makeRoom(address: string, signal: AbortSignal): Promise<void> {
    for (const session of this.#idle.keys()) {
      if (session.address !== address) continue
      this.#forget(session)
      const stop = () => session.close()
      if (signal.aborted) return stop()
      signal.addEventListener('abort', stop, { once: true })
      await this.#quit(session)
      return signal.removeEventListener('abort', stop)
    }
  }

  async #quit(session: SmtpSession): Promise<void> {
    await this.#part(session, () => session.quit())
  }

  /** Waits for the answer to the last word; a session for which there is no room is ended at once, and undefined given. */
  async #part<T>(session: SmtpSession, sayIt: () => Promise<T>): Promise<T | undefined> {
    let same = 0
    for (const other of this.#parting) if (other.address === session.address) same++
    if (this.#parting.size >= smtpPartingSessions || same >= smtpPartingSessionsPerAddress) {
      session.close()
      return undefined
    }
    this.#parting.add(session)
    const answer = await sayIt()
    this.#parting.delete(session)
    return answer
  }

  #forget(session: SmtpSession): void {
    this.#idle.get(session)?.()
    this.#idle.delete(session)
  }

  /** Says QUIT to all that wait for a message, and ends those that wait for an answer. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const session of this.#parting) session.close()
    const sessions = [...this.#idle.keys()]
    for (const session of sessions) this.#forget(session)
    await Promise.all(sessions.map(session => session.quit()))
  }
}
