import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

export type ClientAddress = (request: IncomingMessage) => string

/**
 * The address that a request came from. X-Forwarded-For is believed only as far as it was written by trusted proxies:
 * the last entry that is not one of them is the client.
 */
export function createClientAddress(isTrusted: (address: string) => boolean): ClientAddress {
  return request => {
    let address = request.socket.remoteAddress ?? ''
    const forwarded = String(request.headers['x-forwarded-for'] ?? '').split(',')
    while (isTrusted(address) && forwarded.length > 0) {
      const before = forwarded.pop()!.trim()
      if (!ipaddr.isValid(before)) break
      address = before
    }
    return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address
  }
}
