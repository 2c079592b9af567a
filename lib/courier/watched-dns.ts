import type { Clock } from '../base/clock.ts'
import type { Dns } from '../base/dns.ts'
import { limits } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import { createOutage } from '../base/outage.ts'

/** What a resolver that is not there leads to. Whose name servers are broken or slow is a stranger's affair, and has answers between. */
const silence = ['ETIMEOUT', 'ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH']

/** DNS whose silence is told once at its begin, and once at its end with how many questions had no answer. */
export function watchDns(dns: Dns, parts: { readonly clock: Clock; readonly log: Log }): Dns {
  const outage = createOutage(parts, {
    begin: 'DNS does not answer: mail waits, and what needs an answer of it is put off',
    end: 'DNS answers again',
    failures: limits.dnsSilent,
    lastingMs: limits.dnsSilentMs,
  })
  const watched = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      const answer = await asked
      outage.worked()
      return answer
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'none'
      if (silence.includes(code)) outage.failed({ code })
      else outage.worked()
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
