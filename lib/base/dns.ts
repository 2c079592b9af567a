/** What mailboxd asks of DNS. It comes in through App; lib/courier/dns.ts answers with node:dns, tests with their own server. */
export interface Dns {
  resolveMx(name: string): Promise<{ exchange: string; priority: number }[]>
  resolve4(name: string): Promise<string[]>
  resolve6(name: string): Promise<string[]>
  resolveTxt(name: string): Promise<string[][]>
  /** Any record type, in the form of node:dns `resolve(name, type)`; what mailauth asks with. */
  resolve(name: string, type: string): Promise<unknown[]>
  /** The names of an address (PTR). */
  reverse(address: string): Promise<string[]>
}
