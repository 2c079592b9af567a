import { isIPv4, isIPv6 } from 'node:net'

/**
 * The version of an IP address (IPv6 without brackets), or 0 for any other text. Node's first answer about IPv6 takes 6 ms, in every call of
 * mailboxctl, so what a URL may have for one is not asked of it, nor what has brackets, as each endpoint with a port does.
 */
export function ipVersion(text: string): 0 | 4 | 6 {
  if (isIPv4(text)) return 4
  if (!/:.*:/.test(text) || text.includes('[')) return 0
  const isOfUrl = /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)
  return isOfUrl || isIPv6(text) ? 6 : 0
}
