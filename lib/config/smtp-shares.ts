import { list, number } from './setting.ts'

/** Settings of the table `smtp`: what one peer, and the block of addresses that it is in, may have of the door. */
export const shareSettings = {
  max_connections_per_block: number({
    default: 100,
    local: 500,
    minimum: 1,
    maximum: 10_000,
    unit: 'connections',
    description:
      'The most connections at one time from one block of addresses, a /24 of IPv4 or a /48 of IPv6 (421 above it).',
  }),
  connections_per_minute_per_address: number({
    default: 120,
    local: 0,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'connections a minute',
    description:
      'The most new connections in a minute from one address, or one /64 of IPv6 (421 above it; 0: no limit). What is counted a minute is kept in memory and begins anew with the process.',
  }),
  connections_per_minute_per_block: number({
    default: 600,
    local: 0,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'connections a minute',
    description: 'The same for one block, a /24 of IPv4 or a /48 of IPv6 (421 above it; 0: no limit).',
  }),
  messages_per_minute_per_address: number({
    default: 600,
    local: 0,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'messages a minute',
    description:
      'The most messages that one address, or one /64 of IPv6, may begin in a minute (450 4.7.1 above it; 0: no limit).',
  }),
  messages_per_minute_per_block: number({
    default: 1800,
    local: 0,
    minimum: 0,
    maximum: 1_000_000,
    unit: 'messages a minute',
    description: 'The same for one block, a /24 of IPv4 or a /48 of IPv6 (450 4.7.1 above it; 0: no limit).',
  }),
  bytes_per_minute_per_address: number({
    default: 300_000_000,
    local: 0,
    minimum: 0,
    maximum: 2_000_000_000,
    unit: 'bytes a minute',
    description:
      'The most bytes of messages in a minute from one address, or one /64 of IPv6 (450 4.7.1 above it; 0: no limit). The size that MAIL announces counts before the message is sent (4 KiB if it announces none). A message larger than this is accepted alone.',
  }),
  bytes_per_minute_per_block: number({
    default: 1_500_000_000,
    local: 0,
    minimum: 0,
    maximum: 2_000_000_000,
    unit: 'bytes a minute',
    description: 'The same for one block, a /24 of IPv4 or a /48 of IPv6 (450 4.7.1 above it; 0: no limit).',
  }),
  trusted_networks: list('network', 0, {
    default: [],
    description:
      'Networks that the limits of a minute, the delay of the greeting, greylisting and DNS block lists do not count for, such as that of your backup MX. Connections at one time are counted all the same.',
  }),
  greeting_delay: number({
    default: 0,
    minimum: 0,
    maximum: 30_000,
    unit: 'milliseconds',
    description:
      'How long a peer is left waiting for the greeting. Who speaks before it, or pipelines before EHLO is answered, is refused (554 5.5.1). A delay catches more of those that send without listening, and holds up every sender by as much: it is 0 because codes and links that an agent waits for come by mail.',
  }),
}
