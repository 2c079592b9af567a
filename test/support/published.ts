import type { Domain } from '../../lib/model/domain.ts'
import type { TestDns } from './dns.ts'

/** Publishes all records of a domain as its owner would, and the server's address. */
export function publish(dns: TestDns, { records }: Pick<Domain, 'records'>, address = '127.0.0.1'): void {
  for (const { type, name, value, priority } of records) {
    if (type === 'CNAME') dns.set(name, 'CNAME', [value])
    else if (type !== 'MX') dns.set(name, 'TXT', [value])
    else {
      dns.set(name, 'MX', [{ priority: priority ?? 0, exchange: value }])
      dns.set(value, 'A', [address])
    }
  }
}
