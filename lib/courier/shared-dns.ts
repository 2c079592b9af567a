import type { Dns } from '../base/network.ts'
import type { Clock } from '../base/time.ts'

/** For how long an answer of DNS holds for the next mail to the same destination, and how many are kept. */
export const dnsSharedMs = 1_000
export const dnsSharedEntries = 200

/**
 * DNS that is asked once for what several ask at the same time or within `dnsSharedMs`: many mails to one destination
 * need the same MX, policy and addresses. That is shorter than any TTL that means something, so nobody is believed for longer
 * than he said, nor when he says that there is nothing (RFC 2308), as most domains do of a policy. What failed is asked again at
 * once; PTR is never shared. What stays of the last names until the next question is `dnsSharedEntries` answers of
 * `dnsAnswerBytes` each.
 */
export function shareAnswers(dns: Dns, clock: Clock): Dns {
  const known = new Map<string, { readonly answer: Promise<readonly unknown[]>; untilMs: number }>()

  function dropOld(nowMs: number): void {
    for (const [key, { untilMs }] of known) {
      if (untilMs > nowMs && known.size < dnsSharedEntries) return
      known.delete(key)
    }
  }

  async function share<T>(key: string, ask: () => Promise<T[]>): Promise<T[]> {
    const nowMs = clock.monotonicMs()
    let found = known.get(key)
    if (!found || found.untilMs <= nowMs) {
      dropOld(nowMs)
      known.delete(key)
      const asked = { answer: ask(), untilMs: nowMs + dnsSharedMs }
      known.set(key, asked)
      asked.answer.catch(error => {
        if (!saysNothing(error) && known.get(key) === asked) known.delete(key)
      })
      found = asked
    }
    // A list of one's own, as who asks for himself gets it.
    return [...((await found.answer) as readonly T[])]
  }

  return {
    resolveMx: name => share(`MX ${name}`, () => dns.resolveMx(name)),
    resolve4: name => share(`A ${name}`, () => dns.resolve4(name)),
    resolve6: name => share(`AAAA ${name}`, () => dns.resolve6(name)),
    resolveTxt: name => share(`TXT ${name}`, () => dns.resolveTxt(name)),
    resolve: (name, type) => share(`any ${type} ${name}`, () => dns.resolve(name, type)),
    reverse: address => dns.reverse(address),
  }
}

function saysNothing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENODATA' || error.code === 'ENOTFOUND')
}
