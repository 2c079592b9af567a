import type { Dns } from '../../base/dns.ts'
import type { Finding } from './finding.ts'

/**
 * Whether the server's name leads to an address, and each address back to the name (forward-confirmed reverse DNS): many servers
 * refuse mail from who can't say so. What DNS gives no answer for is a warning, and no error.
 */
export async function checkHost(hostname: string, dns: Dns): Promise<Finding[]> {
  const [ipv4, ipv6] = await Promise.all([answer(dns.resolve4(hostname)), answer(dns.resolve6(hostname))])
  if (ipv4 === undefined || ipv6 === undefined) {
    return [unanswered(hostname, 'the addresses of this server')]
  }
  const addresses = [...ipv4, ...ipv6]
  if (addresses.length === 0) {
    return [
      {
        level: 'error',
        code: 'host_without_address',
        subject: hostname,
        message: 'the name of this server has no address: nobody can deliver to it. Publish one',
        paste: `${hostname}. 3600 IN A <the public address of this machine>`,
      },
    ]
  }
  return (await Promise.all(addresses.map(address => checkReverse(hostname, address, dns)))).flat()
}

async function checkReverse(hostname: string, address: string, dns: Dns): Promise<Finding[]> {
  const names = await answer(dns.reverse(address))
  if (names === undefined) return [unanswered(address, 'the PTR of the address')]
  if (names.some(name => name.toLowerCase().replace(/\.$/, '') === hostname)) return []
  const found = names.length === 0 ? 'it has none' : `it is ${names.slice(0, 3).join(', ').slice(0, 300)}`
  return [
    {
      level: 'error',
      code: 'ptr_mismatch',
      subject: address,
      message: `the PTR of ${address} must be ${hostname}, and ${found}: large providers refuse mail from here. Whoever gave you the address sets it (it is called "reverse DNS")`,
      paste: hostname,
    },
  ]
}

function unanswered(subject: string, what: string): Finding {
  const message = `DNS gave no answer for ${what}: try again, or see to the DNS server`
  return { level: 'warning', code: 'dns_unanswered', subject, message, paste: null }
}

/** The records, none, or undefined when DNS does not say. */
export async function answer<T>(asked: Promise<T[]>): Promise<T[] | undefined> {
  try {
    return await asked
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    return code === 'ENOTFOUND' || code === 'ENODATA' ? [] : undefined
  }
}
