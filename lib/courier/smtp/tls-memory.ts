import { createSecureContext, type SecureContext } from 'node:tls'
import { destinationsKnown } from '../../base/concurrency.ts'
import type { Clock } from '../../base/time.ts'
import type { TlsFault } from '../tls-result.ts'

/** Where STARTTLS failed: how long it is not tried again unless a policy demands it. */
export const tlsBrokenMs = 3_600_000
/** TLS sessions that can be taken up again: how many, how long, bytes of one. */
export const tlsSessions = 1_000
export const tlsSessionMs = 3_600_000
export const tlsSessionBytes = 16 * 1024

/**
 * What was seen of TLS with hosts at addresses, bounded and for a while: where STARTTLS is broken, and sessions of TLS that can be
 * taken up again (RFC 8446 §2.2).
 */
export class TlsMemory {
  readonly #clock: Clock
  readonly #broken = new Map<string, { fault: TlsFault; untilMs: number }>()
  readonly #sessions = new Map<string, { session: Buffer; untilMs: number }>()

  readonly #ca: string | undefined
  #context: SecureContext | undefined

  /** @param ca certificates in PEM to believe in, instead of the system's */
  constructor(clock: Clock, ca?: string) {
    this.#clock = clock
    this.#ca = ca
  }

  /** Made once: each would read all the root certificates. */
  get context(): SecureContext {
    this.#context ??= createSecureContext({
      minVersion: 'TLSv1.2',
      ...(this.#ca === undefined ? {} : { ca: this.#ca }),
    })
    return this.#context
  }

  /**
   * Why STARTTLS failed there lately, so that it is not tried where nothing demands it. Of the host at the address alone:
   * a server may have no certificate for the name by which somebody else's domain leads to it (RFC 6066 §3).
   */
  brokenBy(host: string, address: string): TlsFault | undefined {
    const key = `${host} ${address}`
    const found = this.#broken.get(key)
    if (found && this.#clock.monotonicMs() < found.untilMs) return found.fault
    this.#broken.delete(key)
    return undefined
  }

  noteBroken(host: string, address: string, fault: TlsFault): void {
    const untilMs = this.#clock.monotonicMs() + tlsBrokenMs
    put(this.#broken, `${host} ${address}`, { fault, untilMs }, destinationsKnown)
  }

  /** @param key of demand, host and address: what was proven in it is taken up, too */
  session(key: string): Buffer | undefined {
    const found = this.#sessions.get(key)
    return found && this.#clock.monotonicMs() < found.untilMs ? found.session : undefined
  }

  keep(key: string, session: Buffer): void {
    if (session.length > tlsSessionBytes) return
    const untilMs = this.#clock.monotonicMs() + tlsSessionMs
    put(this.#sessions, key, { session, untilMs }, tlsSessions)
  }
}

function put<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size > most) map.delete(map.keys().next().value!)
}
