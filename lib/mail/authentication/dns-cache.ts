import { type Dns, dnsTimeoutMs, tooLongCode } from '../../base/network.ts'
import type { Clock } from '../../base/time.ts'
import { type Answer, createAnswerMemory } from './dns-memory.ts'

/**
 * Asks for the records of a name, in the form of node:dns `resolve(name, type)` and with its errors.
 * @param isFresh whether what was remembered before is not asked, here nor where this asks
 */
export type RememberedLookup = (name: string, type: string, isFresh?: boolean) => Promise<unknown[]>

/**
 * DNS with a memory of its own. A query that takes longer than dnsTimeoutMs is ETIMEOUT; who asks what is being
 * asked already waits for that answer. Node tells no TTL, so answers are kept for fixed and short times; failures that
 * may be over at the next try are not kept, but that an answer is too long is.
 */
export function createDnsCache({
  dns,
  clock,
}: {
  dns: Pick<Dns, 'resolve'>
  clock: Clock
}): RememberedLookup {
  const memory = createAnswerMemory(clock)
  const underWay = new Map<string, Promise<Answer>>()

  async function ask(name: string, type: string, isFresh: boolean): Promise<Answer> {
    try {
      return { records: await within(dnsTimeoutMs, dns.resolve(name, type, isFresh), name) }
    } catch (error) {
      const code = codeOf(error)
      if (code === 'ENOTFOUND' || code === 'ENODATA' || code === tooLongCode) return { none: code }
      // A name that node:dns asks nobody for.
      if (code === 'EBADNAME') return { none: 'ENOTFOUND' }
      throw error
    }
  }

  async function find(name: string, type: string, isFresh: boolean): Promise<Answer> {
    const key = `${type} ${name.toLowerCase()}`
    const known = memory.find(key, isFresh)
    if (known) return known
    if (!isName(name)) return { none: 'ENOTFOUND' }
    // What others are waiting for may come from a memory.
    const waitedFor = isFresh ? `fresh ${key}` : key
    const asked = underWay.get(waitedFor)
    if (asked) return asked
    const asking = ask(name, type, isFresh)
    underWay.set(waitedFor, asking)
    try {
      const answer = await asking
      memory.keep(key, answer, isFresh)
      return answer
    } finally {
      underWay.delete(waitedFor)
    }
  }

  return async (name, type, isFresh = false) => {
    const answer = await find(name, type, isFresh)
    // Each asker gets an error and a list of its own: mailauth writes on the one and sorts the other.
    if ('none' in answer) throw nothingThere(`no ${type} of ${name}`, answer.none)
    return [...answer.records]
  }
}

/** It is an answer like others, and there are several for each message: to note where it was asked for took longer than to find it. */
function nothingThere(message: string, code: string): Error {
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const error = Object.assign(new Error(message), { code })
  Error.stackTraceLimit = stackTraceLimit
  // mailauth takes every code that it does not know for a temporary error, unless this says otherwise.
  if (code === tooLongCode) Object.assign(error, { spfResult: { error: 'permerror', text: message } })
  return error
}

/**
 * Whether it can be a name of the DNS (RFC 1035 §2.3.4). What can't has no records for good: a question for it would end
 * in an error like that of a server that is down, and strangers choose names (RFC 7208 §7, §4.3).
 */
function isName(name: string): boolean {
  const labels = name.replace(/\.$/, '').split('.')
  return name.length <= 254 && labels.every(label => /^[ -[\]-~]{1,63}$/.test(label))
}

async function within<T>(ms: number, answer: Promise<T>, name: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    reject(Object.assign(new Error(`DNS gave no answer for ${name}`), { code: 'ETIMEOUT' }))
  }, ms)
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
