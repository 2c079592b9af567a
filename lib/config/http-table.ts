import { duration, list, number, table } from './setting.ts'

/** The door of the API. */
export const httpTable = table('The door of the API.', {
  listen: list('listener', 1, {
    default: ['127.0.0.1:8025'],
    description: 'The addresses and ports to listen on. It is plain HTTP: put a proxy with TLS before it.',
  }),
  trusted_proxies: list('network', 0, {
    default: [],
    description: 'The networks of proxies whose X-Forwarded-For is believed, such as "127.0.0.1/32".',
  }),
  cors_origins: list('origin', 0, {
    default: ['*'],
    description:
      'The origins whose pages may ask in browsers, such as "https://app.example.com"; "*" is all of them. A page needs a key all the same: there are no cookies.',
  }),
  requests_per_minute: number({
    default: 1000,
    minimum: 1,
    maximum: 1_000_000,
    unit: 'requests a minute',
    description: 'What one API key may ask (429 above it). Of several nodes each gives its share.',
  }),
  max_connections: number({
    default: 5000,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    description:
      'The most connections at one time. Above it a new connection takes the place of the one that has been longest without a whole request, or gets 503 if every request is whole.',
  }),
  max_connections_per_address: number({
    default: 500,
    local: 5000,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    description:
      'The most connections at one time from one address, or one /64 of IPv6 (429 above it). Those of trusted_proxies are not counted so.',
  }),
  max_connections_per_block: number({
    default: 1000,
    local: 5000,
    minimum: 1,
    maximum: 100_000,
    unit: 'connections',
    description: 'The same for one block of addresses, a /24 of IPv4 or a /48 of IPv6 (429 above it).',
  }),
  header_timeout: duration(['1s', '1h'], {
    default: '20s',
    description: 'The longest that the header of a request may take to arrive.',
  }),
  request_timeout: duration(['1s', '1h'], {
    default: '5m',
    description: 'The longest that a whole request may take to arrive.',
  }),
  write_timeout: duration(['1s', '1h'], {
    default: '30s',
    description: 'The longest that a client may read less than 64 KB of an answer that waits for it.',
  }),
})
