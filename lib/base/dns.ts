/** How long one question to DNS may take. */
export const dnsTimeoutMs = 5_000

/** What mailboxd asks of DNS. It comes in through App; lib/courier/dns.ts answers with node:dns, tests with their own server. */
export interface Dns {
  resolveMx(name: string): Promise<{ exchange: string; priority: number }[]>
  resolve4(name: string): Promise<string[]>
  resolve6(name: string): Promise<string[]>
  resolveTxt(name: string): Promise<string[][]>
  /**
   * Any record type, in the form of node:dns `resolve(name, type)`; what mailauth asks with.
   * @param isFresh whether what mailboxd remembers is not asked; what remembers nothing needs not look at it
   */
  resolve(name: string, type: string, isFresh?: boolean): Promise<unknown[]>
  /** The names of an address (PTR). */
  reverse(address: string): Promise<string[]>
}

/** The code of the error for an answer that is longer than `dnsAnswerBytes`: it was given, and is of no use for good. */
export const tooLongCode = 'EMSGSIZE'

/** About what the records of an answer take: their texts, and a pointer to each part. */
export function answerBytes(records: readonly unknown[]): number {
  let bytes = 0
  for (const record of records) {
    bytes += 8
    if (typeof record === 'string') bytes += record.length
    else if (typeof record === 'object' && record !== null) bytes += answerBytes(Object.values(record))
  }
  return bytes
}
