import type { Log } from '../base/log.ts'
import type { Dns } from '../base/network.ts'
import { createOutage } from '../base/outage.ts'
import type { Clock } from '../base/time.ts'

/** Questions in a row without an answer, and the time since the first of them, after which it is said that DNS does not answer. */
export const dnsSilent = 5
export const dnsSilentMs = 10_000

/** What a resolver that is not there leads to. Whose name servers are broken or slow is a stranger's affair, and has answers between. */
const silence = ['ETIMEOUT', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH']

/** Whether an error of DNS means that nothing answered. */
export function isSilence(code: string): boolean {
  return silence.includes(code)
}

/**
 * Whether the resolver of this server answers nothing at all just now, and not only for a name whose own name servers are slow:
 * its answer about the root does not matter, only that there is one.
 */
export async function isResolverSilent(dns: Pick<Dns, 'resolve'>): Promise<boolean> {
  try {
    await dns.resolve('.', 'NS')
    return false
  } catch (error) {
    return error instanceof Error && 'code' in error && isSilence(String(error.code))
  }
}

interface WatchParts {
  readonly clock: Clock
  readonly log: Log
  /** Called when it answers again for the first time after it did not. */
  readonly answersAgain?: () => void
}

/** DNS whose silence is logged once when it begins and once when it ends, with how many questions had no answer. */
export function watchDns(dns: Dns, parts: WatchParts): Dns {
  let wasSilent = false
  const outage = createOutage(parts, {
    begin: 'DNS does not answer: mail waits, and what needs an answer of it is put off',
    end: 'DNS answers again',
    failures: dnsSilent,
    lastingMs: dnsSilentMs,
  })
  const worked = () => {
    outage.worked()
    if (wasSilent) parts.answersAgain?.()
    wasSilent = false
  }
  const watched = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      const answer = await asked
      worked()
      return answer
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'none'
      if (isSilence(code)) {
        wasSilent = true
        outage.failed({ code })
      } else worked()
      throw error
    }
  }
  return {
    resolveMx: name => watched(dns.resolveMx(name)),
    resolve4: name => watched(dns.resolve4(name)),
    resolve6: name => watched(dns.resolve6(name)),
    resolveTxt: name => watched(dns.resolveTxt(name)),
    resolve: (name, type) => watched(dns.resolve(name, type)),
    reverse: address => watched(dns.reverse(address)),
  }
}
