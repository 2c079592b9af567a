import { Resolver } from 'node:dns/promises'
import { answerBytes, type Dns, tooLongCode } from '../base/network.ts'

/**
 * One answer of DNS, in bytes; DNS has room for 64 KiB, which a stranger's name server fills for every name of his. No record that
 * mail needs comes near it, and most is left for the other texts at a domain's own name.
 */
export const dnsAnswerBytes = 16 * 1024

export interface DnsOptions {
  /** "address" or "address:port" of the resolvers to ask; empty means those of the system. */
  readonly servers: readonly string[]
  /** What one query may take, whatever is retried within. */
  readonly timeoutMs: number
}

/**
 * DNS by node:dns, which is met here only. Errors are those of node:dns with their `code`: ENOTFOUND (no such
 * name) and ENODATA (no such record) mean none, EMSGSIZE an answer that is too long, all others are temporary.
 */
export function createDns({ servers, timeoutMs }: DnsOptions): Dns {
  // c-ares doubles its time with each try and starts over for each server: two tries to one server fill the
  // time, and with several servers the limit below ends what would take longer.
  const timeout = Math.max(1, Math.floor(timeoutMs / 3))
  const resolver = new Resolver({ timeout, tries: 2, maxTimeout: timeoutMs })
  if (servers.length > 0) resolver.setServers(servers)

  async function within<T>(name: string, answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(Object.assign(new Error(`DNS gave no answer for ${name}`), { code: 'ETIMEOUT' }))
      }, timeoutMs)
    })
    try {
      const records = await Promise.race([answer, late])
      // Refused before anyone keeps it, or gives it to another thread.
      if (answerBytes([records]) > dnsAnswerBytes) {
        throw Object.assign(new Error(`DNS gave too long an answer for ${name}`), { code: tooLongCode })
      }
      return records
    } finally {
      clearTimeout(timer)
    }
  }

  return {
    resolveMx: name => within(name, resolver.resolveMx(name)),
    resolve4: name => within(name, resolver.resolve4(name)),
    resolve6: name => within(name, resolver.resolve6(name)),
    resolveTxt: name => within(name, resolver.resolveTxt(name)),
    async resolve(name, type) {
      const records: unknown = await within(name, resolver.resolve(name, type))
      return Array.isArray(records) ? records : [records]
    },
    async reverse(address) {
      return within(address, resolver.reverse(address))
    },
  }
}
