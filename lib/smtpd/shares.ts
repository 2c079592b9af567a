import { createThrottle } from '../base/concurrency.ts'
import { blockOf, createAddressCount, createNetworkSet, networkOf } from '../base/network.ts'

import { Reply } from '../base/reply.ts'
import type { Clock } from '../base/time.ts'

/** What one peer, and the block of addresses that it is in, may have of the door; a rate of 0 is no limit. */
export interface ShareLimits {
  /** Of all peers together. */
  readonly max_connections: number
  readonly max_connections_per_address: number
  readonly max_connections_per_block: number
  readonly connections_per_minute_per_address: number
  readonly connections_per_minute_per_block: number
  readonly messages_per_minute_per_address: number
  readonly messages_per_minute_per_block: number
  readonly bytes_per_minute_per_address: number
  readonly bytes_per_minute_per_block: number
  readonly trusted_networks: readonly string[]
}

/**
 * The shares of all peers. They are kept in memory alone: bounded there, of this process, and forgotten when it ends,
 * which gives a peer no more than one minute's share again.
 */
export interface Shares {
  /** Takes a place for a connection; or says why there is none, with which of the shares it is in a word as the reason. */
  connect(address: string): { release(): void } | Reply
  /** @param sizeBytes what MAIL says of it @throws Reply 450 4.7.1 when the peer has begun too many messages, or brought too many bytes, in a minute */
  takeMessage(address: string, sizeBytes: number): void
  /** Counts the bytes that came above the size that was said. @throws Reply 450 4.7.1 */
  takeBytes(address: string, count: number): void
  /** Whether the operator trusts the address: then its rates are not counted. */
  isTrusted(address: string): boolean
}

export function createShares(limits: ShareLimits, clock: Clock): Shares {
  const isTrusted = createNetworkSet(limits.trusted_networks)
  const all = createAddressCount(limits.max_connections, () => '')
  const open = [
    createAddressCount(limits.max_connections_per_address, networkOf),
    createAddressCount(limits.max_connections_per_block, blockOf),
  ]
  const connections = createRates(
    limits.connections_per_minute_per_address,
    limits.connections_per_minute_per_block,
    clock,
  )
  const messages = createRates(
    limits.messages_per_minute_per_address,
    limits.messages_per_minute_per_block,
    clock,
  )
  const bytes = createRates(limits.bytes_per_minute_per_address, limits.bytes_per_minute_per_block, clock)

  function takeBytes(address: string, count: number): void {
    if (count <= 0 || isTrusted(address) || bytes.take(address, count)) return
    throw new Reply(
      450,
      '4.7.1',
      'Too many bytes from your address in a minute; try again later',
      'too many bytes in a minute',
    )
  }

  return {
    isTrusted,
    connect(address) {
      if (!isTrusted(address) && !connections.take(address)) {
        return new Reply(
          421,
          '4.7.0',
          'Too many connections from your address in a minute; try again later',
          'rate',
        )
      }
      if (!all.add(address)) {
        return new Reply(421, '4.3.2', 'Too many connections just now; try again in a moment', 'all')
      }
      const taken = [all, ...open.filter(count => count.add(address))]
      const release = () => {
        for (const count of taken) count.remove(address)
      }
      if (taken.length === open.length + 1) return { release }
      release()
      return new Reply(421, '4.7.0', 'Too many connections from your address', 'address')
    },
    takeMessage(address, sizeBytes) {
      if (!isTrusted(address) && !messages.take(address)) {
        throw new Reply(
          450,
          '4.7.1',
          'Too many messages from your address in a minute; try again later',
          'too many messages in a minute',
        )
      }
      takeBytes(address, sizeBytes)
    },
    takeBytes,
  }
}

/** So many a minute for each address, and for each block; as many at once as in a minute. */
function createRates(
  perAddress: number,
  perBlock: number,
  clock: Clock,
): { take(address: string, count?: number): boolean } {
  const throttles = [
    { limit: perAddress, groupOf: networkOf },
    { limit: perBlock, groupOf: blockOf },
  ]
    .filter(({ limit }) => limit > 0)
    .map(({ limit, groupOf }) => ({ groupOf, throttle: createThrottle(clock, limit) }))
  return {
    take: (address, count) =>
      throttles.every(({ groupOf, throttle }) => throttle.take(groupOf(address), count) === 0),
  }
}
